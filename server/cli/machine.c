/* See machine.h. */
#include "server/cli/machine.h"

#include <inttypes.h>
#include <stdio.h>
#include <uv.h>

/* A worker with torch is about 350 MB, the child it forks for a job some 100 MB, and the model comes on top. */
#define WORKER_BYTES (UINT64_C(700) << 20)
enum { FILES_A_WORKER = 4 };

/* The numbers of a file's first line; "max" is UINT64_MAX.  How many there are. */
static int read_numbers(const char *path, uint64_t out[2]) {
    char first[32] = "", second[32] = "";
    FILE *file = fopen(path, "r");
    if (file == NULL) return 0;
    int n = fscanf(file, "%31s %31s", first, second);
    fclose(file);
    if (n >= 1 && sscanf(first, "%" SCNu64, &out[0]) != 1) out[0] = UINT64_MAX;
    if (n >= 2 && sscanf(second, "%" SCNu64, &out[1]) != 1) out[1] = UINT64_MAX;
    return n > 0 ? n : 0;
}

unsigned gg_machine_cores(void) {
    unsigned cores = uv_available_parallelism();
    uint64_t quota[2]; /* microseconds of processor time, in so many of the clock's */
    if (read_numbers("/sys/fs/cgroup/cpu.max", quota) == 2 && quota[0] != UINT64_MAX && quota[1] > 0) {
        uint64_t allowed = (quota[0] + quota[1] - 1) / quota[1];
        if (allowed < cores) cores = (unsigned)allowed;
    }
    return cores ? cores : 1;
}

uint64_t gg_machine_free_bytes(void) {
    uint64_t available = 0, limit[2], used[2];
    char line[128];
    FILE *file = fopen("/proc/meminfo", "r");
    while (file && fgets(line, sizeof(line), file))
        if (sscanf(line, "MemAvailable: %" SCNu64, &available) == 1) available *= 1024;
    if (file) fclose(file);
    if (read_numbers("/sys/fs/cgroup/memory.max", limit) >= 1 && limit[0] != UINT64_MAX &&
        read_numbers("/sys/fs/cgroup/memory.current", used) >= 1) {
        uint64_t left = limit[0] > used[0] ? limit[0] - used[0] : 1;
        if (available == 0 || left < available) available = left;
    }
    return available;
}

unsigned gg_machine_workers(unsigned cores, uint64_t free_bytes, uint64_t files) {
    uint64_t most = cores, by_memory = free_bytes / WORKER_BYTES,
             by_files = (files + FILES_A_WORKER - 1) / FILES_A_WORKER;
    if (free_bytes && by_memory < most) most = by_memory;
    if (by_files < most) most = by_files;
    return most ? (unsigned)most : 1;
}
