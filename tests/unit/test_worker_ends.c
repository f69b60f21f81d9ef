/* links: gg_server */
/* The ends of a worker: it never answers, has no torch, dies at each stage; restart, back-off, giving up. */
#include "worker_fixture.h"

static void run_all(fixture *f) {
    RUN_UNTIL(f, all_done(f));
}

/* One job that cannot run: told once, in these words, and not again by another start. */
static void expect_refused(fixture *f, const char *script, const char *words) {
    begin(f, script);
    submit(f);
    run_all(f);
    assert_string_equal(f->jobs[0].status, "error");
    if (!strstr(f->jobs[0].message, words)) fail_msg("%s", f->jobs[0].message);
    assert_string_equal(gg_worker_get_info(f->worker)->error, f->jobs[0].message);
    submit(f);
    run_all(f);
    assert_string_equal(f->jobs[1].message, f->jobs[0].message);
    assert_int_equal(f->failures, 1);
    assert_true(count_in_log(f, "start") <= 1);
}

static void test_never_says_hello(void **state) {
    fixture *f = *state;
    f->limits.hello_ms = SHORT_MS;
    expect_refused(f, "hang", "did not answer within 0.03 s");
}

static void test_says_hello_and_no_ready(void **state) {
    fixture *f = *state;
    f->limits.ready_ms = SHORT_MS;
    expect_refused(f, "hello hang", "torch did not finish importing within 0.03 s");
}

static void test_ready_without_torch(void **state) {
    expect_refused(*state, "hello no-torch serve", "torch is not installed");
}

static void test_no_interpreter_to_say_hello(void **state) {
    expect_refused(*state, "no-torch exit:1", "torch is not installed");
}

static void test_another_protocol(void **state) {
    expect_refused(*state, "hello:2 ready serve", "version 2 of the protocol");
}

static void test_ready_without_hello(void **state) {
    expect_refused(*state, "ready serve", "before its hello");
}

static void test_no_program(void **state) {
    setenv("GRAPHGLUE_WORKER", "/nonexistent/graphglue-worker", 1);
    expect_refused(*state, "", "/nonexistent/graphglue-worker could not be started: no such file");
}

static void start_again(fixture *f) {
    f->on_failed = NULL;
    gg_worker_start(f->worker);
}

static void test_no_torch_and_then_there_is(void **state) {
    fixture *f = *state;
    begin(f, "hello no-torch hang|hello ready serve");
    submit(f);
    run_all(f);
    gg_worker_start(f->worker);
    submit(f);
    run_all(f);
    assert_string_equal(f->jobs[1].status, "ok");
    assert_null(gg_worker_get_info(f->worker)->error);
    assert_string_equal(gg_worker_get_info(f->worker)->torch, "2.13.0");
    assert_int_equal(gg_worker_get_info(f->worker)->state, GG_WORKER_READY);
}

static void test_start_from_the_callback_that_tells_the_failure(void **state) {
    fixture *f = *state;
    f->on_failed = start_again;
    begin(f, "hello no-torch hang|hello ready serve");
    submit(f);
    run_all(f);
    assert_string_equal(f->jobs[0].status, "ok");
}

static void close_on_failure(fixture *f) {
    close_worker(f);
}

static void test_close_from_the_callback_that_tells_the_failure(void **state) {
    fixture *f = *state;
    f->on_failed = close_on_failure;
    begin(f, "hello ready take started exit:1");
    submit(f);
    submit(f);
    RUN_UNTIL(f, f->closed);
    assert_string_equal(f->jobs[0].status, "crashed");
    assert_string_equal(f->jobs[1].status, "canceled");
}

/* ---- dies at each stage ------------------------------------------------------------------------------------------------------- */

static void expect_second_start_serves(fixture *f, const char *first) {
    char script[128];
    snprintf(script, sizeof(script), "%s|hello ready serve", first);
    begin(f, script);
    submit(f);
    submit(f);
    run_all(f);
    assert_string_equal(f->jobs[0].status, "ok");
    assert_string_equal(f->jobs[1].status, "ok");
    assert_int_equal(count_in_log(f, "start"), 2);
}

static void test_dies_before_hello(void **state) {
    expect_second_start_serves(*state, "exit:1");
}

static void test_dies_before_ready(void **state) {
    expect_second_start_serves(*state, "hello exit:1");
}

static void test_dies_after_ready(void **state) {
    expect_second_start_serves(*state, "hello ready exit:0");
}

static void test_dies_before_the_job_began(void **state) {
    expect_second_start_serves(*state, "hello ready take die:9");
}

static void expect_first_job_lost(fixture *f, const char *first, const char *words) {
    char script[128];
    snprintf(script, sizeof(script), "hello ready take started break %s|hello ready serve", first);
    begin(f, script);
    for (int i = 0; i < 3; i++) submit(f);
    run_all(f);
    assert_string_equal(f->jobs[0].ops, "sb");
    assert_string_equal(f->jobs[0].status, "crashed");
    if (!strstr(f->jobs[0].message, words)) fail_msg("%s", f->jobs[0].message);
    assert_string_equal(f->jobs[1].status, "ok");
    assert_string_equal(f->jobs[2].status, "ok");
    assert_int_equal(count_in_log(f, "start"), 2);
    assert_int_equal(count_in_log(f, "capture 1"), 1);
}

static void test_ends_during_a_job(void **state) {
    expect_first_job_lost(*state, "exit:3", "exit code 3");
}

static void test_is_killed_during_a_job(void **state) {
    expect_first_job_lost(*state, "die:9", "killed by signal 9");
}

static void test_its_last_words_are_told(void **state) {
    expect_first_job_lost(*state, "say:first say:no\x1b[1mspace\xc3\xa9 exit:3", "exit code 3): no [1mspace\xc3\xa9");
}

static void test_leaves_a_process_behind(void **state) {
    expect_first_job_lost(*state, "hold exit:3", "exit code 3");
}

static void test_closes_the_connection_and_stays(void **state) {
    fixture *f = *state;
    f->limits.linger_ms = SHORT_MS;
    expect_first_job_lost(f, "close hang", "ended its connection");
}

static void test_goes_silent(void **state) {
    fixture *f = *state;
    f->limits.silence_ms = SHORT_MS;
    begin(f, "hello ready take started hang|hello ready serve");
    submit_file(f, "/w/net.py", 1);
    submit(f);
    run_all(f);
    assert_string_equal(f->jobs[0].status, "crashed");
    assert_non_null(strstr(f->jobs[0].message, "silent"));
    assert_string_equal(f->jobs[1].status, "ok");
}

/* Out of the worker's reach, and so ours to end: a process that left the group and holds the connection. */
static void test_a_process_out_of_reach_holds_the_connection(void **state) {
    fixture *f = *state;
    f->limits.linger_ms = SHORT_MS;
    expect_first_job_lost(f, "hold:away exit:3", "exit code 3");
    char *log = read_log(f);
    const char *held = strstr(log, "held ");
    assert_non_null(held);
    kill((pid_t)strtol(held + 5, NULL, 10), SIGKILL);
    gg_free(log);
}

static void count_frame(fixture *f, job *j) {
    (void)f;
    j->ops[0] = 0;
    j->ops[1]++; /* wraps at 256: 3,000 breaks and one `started` leave 3001 % 256 */
}

static void test_frames_before_the_exit_are_delivered(void **state) {
    fixture *f = *state;
    begin(f, "hello ready take started breaks:3000 done exit:0|hello ready serve");
    submit(f)->at_frame = count_frame;
    submit(f);
    run_all(f);
    assert_string_equal(f->jobs[0].status, "ok");
    assert_int_equal((unsigned char)f->jobs[0].ops[1], 3001 % 256);
    assert_string_equal(f->jobs[1].status, "ok");
    assert_int_equal(count_in_log(f, "start"), 2);
}

static void test_frames_that_are_read_after_the_exit_was_seen(void **state) {
    fixture *f = *state;
    begin(f, "hello ready take started orphan break done exit:0|hello ready serve");
    submit(f);
    submit(f);
    run_all(f);
    assert_string_equal(f->jobs[0].ops, "sb");
    assert_string_equal(f->jobs[0].status, "ok");
    assert_string_equal(f->jobs[1].status, "ok");
}

/* ---- restart, back-off, giving up ----------------------------------------------------------------------------------------------- */

static void test_a_job_that_never_begins_is_not_tried_for_ever(void **state) {
    fixture *f = *state;
    begin(f, "hello ready take exit:1|hello ready take exit:1|hello ready serve");
    submit(f);
    submit(f);
    run_all(f);
    assert_string_equal(f->jobs[0].status, "crashed");
    assert_string_equal(f->jobs[1].status, "ok");
    assert_int_equal(count_in_log(f, "capture 1"), 2);
}

static void test_gives_up_with_one_message(void **state) {
    fixture *f = *state;
    begin(f, "say:why exit:1|say:why exit:1|say:why exit:1|hello ready serve");
    for (int i = 0; i < 3; i++) submit(f);
    run_all(f);
    for (int i = 0; i < 3; i++) {
        assert_string_equal(f->jobs[i].status, "crashed");
        assert_string_equal(f->jobs[i].message, "the worker was started 3 times in a row and is left alone for now; "
                                                "the last time: the worker ended by itself (exit code 1): why");
    }
    assert_int_equal(f->failures, 3);
    submit(f); /* told, not hammered */
    run_all(f);
    assert_string_equal(f->jobs[3].message, f->jobs[0].message);
    assert_int_equal(count_in_log(f, "start"), 3);
    gg_worker_start(f->worker);
    submit(f);
    run_all(f);
    assert_string_equal(f->jobs[4].status, "ok");
    assert_int_equal(count_in_log(f, "start"), 4);
}

static void wait_and_submit(uv_timer_t *timer) {
    fixture *f = timer->data;
    submit(f);
    uv_close((uv_handle_t *)timer, NULL);
    uv_stop(&f->loop);
}

static void test_a_job_starts_it_again_after_a_rest(void **state) {
    fixture *f = *state;
    f->limits.rest_ms = SHORT_MS;
    begin(f, "hello no-torch|hello ready serve");
    submit(f);
    run_all(f);
    uv_timer_t rest;
    uv_timer_init(&f->loop, &rest);
    rest.data = f;
    uv_timer_start(&rest, wait_and_submit, SHORT_MS + 1, 0);
    RUN_UNTIL(f, f->job_count == 2);
    run_all(f);
    assert_string_equal(f->jobs[0].status, "error");
    assert_string_equal(f->jobs[1].status, "ok");
}

static void test_a_job_done_ends_the_row(void **state) {
    fixture *f = *state;
    begin(f, "hello ready take started done take started exit:1");
    for (int i = 0; i < 10; i++)
        submit(f); /* each start does one and loses one: never three in a row without one done */
    run_all(f);
    for (int i = 0; i < 10; i++) assert_string_equal(f->jobs[i].status, i % 2 ? "crashed" : "ok");
    assert_int_equal(count_in_log(f, "start"), 5);
}

static void test_close_while_backing_off(void **state) {
    fixture *f = *state;
    f->limits.back_off_ms = LONG_MS;
    begin(f, "exit:1");
    submit(f);
    RUN_UNTIL(f, f->failures == 1);
    assert_int_equal(f->jobs[0].dones, 0);
    close_worker(f);
    RUN_UNTIL(f, f->closed);
    assert_string_equal(f->jobs[0].status, "canceled");
    assert_int_equal(count_in_log(f, "start"), 1);
}

static void test_an_explicit_start_does_not_wait_for_the_back_off(void **state) {
    fixture *f = *state;
    f->limits.back_off_ms = LONG_MS;
    begin(f, "exit:1|hello ready serve");
    submit(f);
    RUN_UNTIL(f, f->failures == 1);
    gg_worker_start(f->worker);
    gg_worker_start(f->worker);
    run_all(f);
    assert_string_equal(f->jobs[0].status, "ok");
    assert_int_equal(count_in_log(f, "start"), 2);
}

static void test_cancel_while_backing_off(void **state) {
    fixture *f = *state;
    f->limits.back_off_ms = LONG_MS;
    begin(f, "exit:1");
    submit(f);
    RUN_UNTIL(f, f->failures == 1);
    gg_worker_cancel(f->worker, f->jobs[0].id);
    run_all(f);
    assert_string_equal(f->jobs[0].status, "canceled");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        WORKER_TEST(test_never_says_hello),
        WORKER_TEST(test_says_hello_and_no_ready),
        WORKER_TEST(test_ready_without_torch),
        WORKER_TEST(test_no_interpreter_to_say_hello),
        WORKER_TEST(test_another_protocol),
        WORKER_TEST(test_ready_without_hello),
        WORKER_TEST(test_no_program),
        WORKER_TEST(test_no_torch_and_then_there_is),
        WORKER_TEST(test_start_from_the_callback_that_tells_the_failure),
        WORKER_TEST(test_close_from_the_callback_that_tells_the_failure),
        WORKER_TEST(test_dies_before_hello),
        WORKER_TEST(test_dies_before_ready),
        WORKER_TEST(test_dies_after_ready),
        WORKER_TEST(test_dies_before_the_job_began),
        WORKER_TEST(test_ends_during_a_job),
        WORKER_TEST(test_is_killed_during_a_job),
        WORKER_TEST(test_its_last_words_are_told),
        WORKER_TEST(test_leaves_a_process_behind),
        WORKER_TEST(test_closes_the_connection_and_stays),
        WORKER_TEST(test_goes_silent),
        WORKER_TEST(test_a_process_out_of_reach_holds_the_connection),
        WORKER_TEST(test_frames_before_the_exit_are_delivered),
        WORKER_TEST(test_frames_that_are_read_after_the_exit_was_seen),
        WORKER_TEST(test_a_job_that_never_begins_is_not_tried_for_ever),
        WORKER_TEST(test_gives_up_with_one_message),
        WORKER_TEST(test_a_job_starts_it_again_after_a_rest),
        WORKER_TEST(test_a_job_done_ends_the_row),
        WORKER_TEST(test_close_while_backing_off),
        WORKER_TEST(test_an_explicit_start_does_not_wait_for_the_back_off),
        WORKER_TEST(test_cancel_while_backing_off),
    };
    return cmocka_run_group_tests(tests, be_subreaper, NULL);
}
