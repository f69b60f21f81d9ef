/* Reports turns of the loop that took over 20 ms.  Once per turn, from the prepare handle.
 *
 * A turn's time is what the loop spent outside its wait for events.  A machine under load may take the processor away in the middle: such
 * time is not the loop's fault, so a turn counts as a stall when it used 20 ms of processor time itself, or took 20 ms without once being
 * preempted (it blocked). */
#include <sys/resource.h>
#include <time.h>

#include "server/session.h"

/* Instrumented code is about three times as slow. */
#if GG_SANITIZED
enum { STALL_MS = 60 };
#else
enum { STALL_MS = 20 };
#endif

void gg_watchdog_turn(gg_session *session) {
    struct timespec cpu;
    struct rusage usage;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
    getrusage(RUSAGE_THREAD, &usage);
    uint64_t wall = uv_hrtime(), idle = uv_metrics_idle_time(&session->loop);
    uint64_t cpu_ns = (uint64_t)cpu.tv_sec * 1000000000u + (uint64_t)cpu.tv_nsec;
    if (session->turn_wall_ns) {
        uint64_t slept = idle - session->turn_idle_ns, passed = wall - session->turn_wall_ns;
        uint64_t busy_us = passed > slept ? (passed - slept) / 1000 : 0,
                 used_us = (cpu_ns - session->turn_cpu_ns) / 1000;
        bool preempted = usage.ru_nivcsw != session->turn_switches;
        uint64_t blame_us = preempted ? used_us : busy_us;
        if (blame_us > session->longest_turn_us) session->longest_turn_us = blame_us;
        if (blame_us > STALL_MS * 1000) {
            session->stalls++;
            gg_log(GG_LOG_WARNING, "the loop stalled for %llu ms (last method: %s)",
                   (unsigned long long)blame_us / 1000, session->last_method ? session->last_method : "none");
        }
    }
    session->turn_wall_ns = wall;
    session->turn_idle_ns = idle;
    session->turn_cpu_ns = cpu_ns;
    session->turn_switches = usage.ru_nivcsw;
}
