/* links: gg_server */
/* A thousand exchanges with a server whose every answer may be a fault, some of them given up: each ends once and in time, the loop is never held up,
 * and nothing is left behind. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "server/llm/client.h"

enum { EXCHANGES = 1000, AT_ONCE = 32, GIVE_UP_EVERY = 7, IDLE_MS = 300, TOTAL_MS = 1500 };
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { STALL_MS = 60 };
#else
enum { STALL_MS = 20 };
#endif

/* ---- the server ------------------------------------------------------------------------------------------------------------ */

typedef struct server {
    pid_t pid;
    int stop; /* its standard input */
    char url[128];
} server;

static void start_server(server *s, const char *seed) {
    int in[2], out[2];
    assert_int_equal(pipe(in), 0);
    assert_int_equal(pipe(out), 0);
    s->pid = fork();
    if (s->pid == 0) {
        dup2(in[0], STDIN_FILENO);
        dup2(out[1], STDOUT_FILENO);
        close(in[1]);
        close(out[0]);
        unsetenv("LD_PRELOAD");
        if (seed)
            execlp("python3", "python3", GG_SOURCE_DIR "/tests/model_server.py", "--faults", seed, "--text",
                   "an answer", (char *)NULL);
        execlp("python3", "python3", GG_SOURCE_DIR "/tests/model_server.py", "--text", "an answer", (char *)NULL);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    s->stop = in[1];
    FILE *words = fdopen(out[0], "r");
    assert_non_null(words);
    assert_non_null(fgets(s->url, sizeof(s->url), words));
    s->url[strcspn(s->url, "\n")] = '\0';
    fclose(words);
}

static void stop_server(server *s) {
    close(s->stop);
    assert_int_equal(waitpid(s->pid, NULL, 0), s->pid);
}

/* ---- exchanges --------------------------------------------------------------------------------------------------------------- */

typedef struct run {
    uv_loop_t loop;
    uv_prepare_t prepare;
    gg_http *http;
    gg_endpoint endpoints[2];
    gg_llm_message message;
    gg_llm_request request;
    unsigned started, ended, good, given_up, ends[64];
    uint64_t turn_cpu_ns, longest_ns, latest_ms;
    uint32_t seed;
} run;

typedef struct one {
    run *run;
    gg_exchange *exchange;
    uv_timer_t give_up;
    bool ended, timed;
} one;

static uint32_t draw(run *r) {
    r->seed = r->seed * 1664525u + 1013904223u;
    return r->seed >> 8;
}

static void start(run *r);

static void on_timer_closed(uv_handle_t *handle) {
    gg_free(handle->data);
}

static void on_progress(void *data, uint64_t tokens) {
    one *o = data;
    assert_false(o->ended);
    assert_true(tokens > 0);
}

static void on_done(void *data, const gg_exchange_end *end) {
    one *o = data;
    run *r = o->run;
    assert_false(o->ended);
    o->ended = true;
    r->ended++;
    r->ends[end->failure]++;
    if (end->took_ms > r->latest_ms) r->latest_ms = end->took_ms;
    assert_int_equal(end->error.code, gg_model_failure_code(end->failure));
    if (end->failure == GG_MODEL_NONE) {
        assert_true(gg_str_is(end->reply.text, "an answer"));
        r->good++;
    }
    uv_close((uv_handle_t *)&o->give_up, on_timer_closed);
    if (r->started < EXCHANGES)
        start(r);
    else if (r->ended == r->started)
        uv_stop(&r->loop);
}

static void on_give_up(uv_timer_t *timer) {
    one *o = timer->data;
    o->run->given_up++;
    gg_exchange_cancel(o->exchange);
}

static void start(run *r) {
    one *o = gg_calloc(1, sizeof(one));
    gg_exchange_options options = {.data = o, .on_progress = on_progress, .on_done = on_done, .first_wait_ms = 5};
    o->run = r;
    uv_timer_init(&r->loop, &o->give_up);
    o->give_up.data = o;
    unsigned n = r->started++;
    o->exchange = gg_exchange_start(r->http, &r->loop, &r->endpoints[n % 2], &r->request, &options);
    if (n % GIVE_UP_EVERY == 0) uv_timer_start(&o->give_up, on_give_up, draw(r) % 100, 0);
}

/* Of the loop's own work; a machine under load takes the processor away, which is not counted. */
static void on_turn(uv_prepare_t *prepare) {
    run *r = prepare->data;
    struct timespec cpu;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
    uint64_t now = (uint64_t)cpu.tv_sec * 1000000000u + (uint64_t)cpu.tv_nsec;
    if (r->turn_cpu_ns && now - r->turn_cpu_ns > r->longest_ns) r->longest_ns = now - r->turn_cpu_ns;
    r->turn_cpu_ns = now;
}

static void set_up(run *r, const server *s) {
    static const gg_api *const apis[] = {&gg_api_openai, &gg_api_anthropic};
    uv_loop_init(&r->loop);
    r->http = gg_http_new(&r->loop);
    for (size_t i = 0; i < GG_COUNT(apis); i++)
        r->endpoints[i] = (gg_endpoint){.api = apis[i],
                                        .url = (char *)(uintptr_t)s->url,
                                        .shown = (char *)(uintptr_t)s->url,
                                        .model = (char *)(uintptr_t) "m",
                                        .loopback = true,
                                        .plain = true,
                                        .connect_ms = TOTAL_MS,
                                        .idle_ms = IDLE_MS,
                                        .total_ms = TOTAL_MS,
                                        .input_price = -1,
                                        .output_price = -1};
    r->message = (gg_llm_message){GG_LLM_USER, GG_STR("a question")};
    r->request = (gg_llm_request){.messages = &r->message, .message_count = 1, .max_tokens = 10};
}

static void tear_down(run *r) {
    gg_http_free(r->http);
    uv_run(&r->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&r->loop), 0);
}

static void test_a_thousand_exchanges(void **state) {
    (void)state;
    server s;
    run r = {.seed = 11};
    start_server(&s, "5");
    set_up(&r, &s);
    uv_prepare_init(&r.loop, &r.prepare);
    r.prepare.data = &r;
    uv_prepare_start(&r.prepare, on_turn);
    while (r.started < AT_ONCE) start(&r);
    uv_run(&r.loop, UV_RUN_DEFAULT);
    uv_close((uv_handle_t *)&r.prepare, NULL);
    tear_down(&r);
    stop_server(&s);
    print_message("%u exchanges: %u right, %u given up, latest %llu ms, longest turn %llu us\n", r.ended, r.good,
                  r.given_up, (unsigned long long)r.latest_ms, (unsigned long long)r.longest_ns / 1000);
    assert_int_equal(r.ended, EXCHANGES);
    assert_true(r.good > EXCHANGES / 10);
    static const gg_model_failure met[] = {GG_MODEL_CANCELED, GG_MODEL_TIMEOUT,    GG_MODEL_UNAUTHORIZED,
                                           GG_MODEL_REFUSED,  GG_MODEL_REDIRECTED, GG_MODEL_MALFORMED};
    for (size_t i = 0; i < GG_COUNT(met); i++) assert_true(r.ends[met[i]] > 0);
    assert_true(r.latest_ms < 4 * TOTAL_MS);
    assert_true(r.longest_ns < STALL_MS * 1000000ull);
}

/* All under way when the end comes. */
static void test_leaving_in_the_middle(void **state) {
    (void)state;
    server s;
    start_server(&s, "9");
    for (int turns = 0; turns < 12; turns++) {
        run r = {.seed = 1, .started = EXCHANGES - 1};
        set_up(&r, &s);
        one *o = gg_calloc(1, sizeof(one));
        gg_exchange_options options = {.data = o, .on_done = on_done};
        o->run = &r;
        uv_timer_init(&r.loop, &o->give_up);
        o->give_up.data = o;
        r.started = EXCHANGES + 1;
        o->exchange = gg_exchange_start(r.http, &r.loop, &r.endpoints[0], &r.request, &options);
        for (int i = 0; i < turns && !o->ended; i++) uv_run(&r.loop, UV_RUN_ONCE);
        if (!r.ended) gg_exchange_cancel(o->exchange);
        tear_down(&r);
        assert_int_equal(r.ended, 1);
    }
    stop_server(&s);
}

static void test_what_cannot_be_sent(void **state) {
    (void)state;
    server s = {.url = "http://127.0.0.1:9/v1"};
    run r = {.started = EXCHANGES - 1};
    set_up(&r, &s);
    r.message.content = GG_STR("\xff");
    start(&r);
    uv_run(&r.loop, UV_RUN_DEFAULT);
    assert_int_equal(r.ends[GG_MODEL_REQUEST], 1);
    tear_down(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_thousand_exchanges),
        cmocka_unit_test(test_leaving_in_the_middle),
        cmocka_unit_test(test_what_cannot_be_sent),
    };
    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
