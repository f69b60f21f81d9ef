/* links: gg_server */
/* The jobs of a worker: order, cancel, and a process that sends what it should not. */
#include "worker_fixture.h"

static void run_all(fixture *f) {
    RUN_UNTIL(f, all_done(f));
}

static void test_jobs_run_one_after_the_other(void **state) {
    fixture *f = *state;
    begin(f, "hello ready take started break entry done take started done serve");
    for (int i = 0; i < 3; i++) submit(f);
    run_all(f);
    assert_string_equal(f->jobs[0].ops, "sbe");
    assert_string_equal(f->jobs[1].ops, "s");
    for (int i = 0; i < 3; i++) assert_string_equal(f->jobs[i].status, "ok");
    char *log = read_log(f);
    assert_non_null(strstr(log, "capture 1 /w/net.py\ncapture 2 /w/net.py\ncapture 3 /w/net.py\n"));
    gg_free(log);
    assert_int_equal(count_in_log(f, "start"), 1);
}

static void submit_more(fixture *f, job *j) {
    if (f->job_count < 5) submit(f)->then = j->then;
}

static void test_submit_from_a_callback(void **state) {
    fixture *f = *state;
    begin(f, "hello ready serve");
    submit(f)->then = submit_more;
    submit(f)->at_frame = submit_more;
    run_all(f);
    assert_int_equal(f->job_count, 5);
    for (size_t i = 0; i < f->job_count; i++) assert_string_equal(f->jobs[i].status, "ok");
}

static void submit_once(fixture *f, job *j) {
    (void)j;
    submit(f);
}

static void test_submit_from_the_callback_of_a_lost_job(void **state) {
    fixture *f = *state;
    begin(f, "hello ready take started exit:3|hello ready serve");
    submit(f)->then = submit_once;
    run_all(f);
    assert_string_equal(f->jobs[0].status, "crashed");
    assert_string_equal(f->jobs[1].status, "ok");
}

/* ---- frames that are not in order ------------------------------------------------------------------------------------------ */

static void test_frames_nobody_asked_for_are_ignored(void **state) {
    fixture *f = *state;
    begin(f, "id:1 done hello hello:2 id:1 started done ready no-torch take id:99 started break done json:{} "
             "json:{\"op\":7} "
             "json:{\"op\":\"done\"} json:{\"op\":\"done\",\"id\":\"1\"} json:{\"op\":\"none\",\"id\":5} id:1 started "
             "done serve");
    submit(f);
    submit(f);
    run_all(f);
    assert_string_equal(f->jobs[0].ops, "s");
    assert_string_equal(f->jobs[0].status, "ok");
    assert_string_equal(f->jobs[1].status, "ok");
    assert_int_equal(f->failures, 0);
}

static void test_done_twice(void **state) {
    fixture *f = *state;
    begin(f, "hello ready take started done done:crashed take id:1 done:crashed id:2 started done done serve");
    for (int i = 0; i < 3; i++) submit(f);
    run_all(f);
    for (int i = 0; i < 3; i++) assert_string_equal(f->jobs[i].status, "ok");
}

static void test_done_of_a_job_that_waits(void **state) {
    fixture *f = *state;
    begin(f, "hello ready take id:2 started break done:crashed id:1 started done take started entry done hang");
    submit(f);
    submit(f);
    run_all(f);
    assert_string_equal(f->jobs[1].ops, "se");
    assert_string_equal(f->jobs[1].status, "ok");
}

static void expect_lost_by(fixture *f, const char *what, const char *words) {
    char script[256];
    snprintf(script, sizeof(script), "hello ready take started %s hang|hello ready serve", what);
    begin(f, script);
    submit(f);
    submit(f);
    run_all(f);
    assert_string_equal(f->jobs[0].status, "crashed");
    if (!strstr(f->jobs[0].message, words)) fail_msg("%s: %s", what, f->jobs[0].message);
    assert_string_equal(f->jobs[1].status, "ok");
    assert_int_equal(count_in_log(f, "start"), 2);
}

static void test_bytes_that_are_no_frame(void **state) {
    expect_lost_by(*state, "hex:00000003616263", "cannot be read");
}

static void test_a_frame_over_the_limit(void **state) {
    expect_lost_by(*state, "hex:7fffffff", "over the limit");
}

static void test_a_frame_that_is_no_object(void **state) {
    expect_lost_by(*state, "json:[1]", "no object");
}

static void test_an_empty_frame(void **state) {
    expect_lost_by(*state, "hex:00000000", "cannot be read");
}

static void test_a_flood_on_stderr(void **state) {
    fixture *f = *state;
    begin(f, "flood hello flood ready take started flood done serve");
    submit(f);
    submit(f);
    run_all(f);
    assert_string_equal(f->jobs[1].status, "ok");
}

static void test_a_request_over_the_limit_fails_alone(void **state) {
    fixture *f = *state;
    begin(f, "hello ready serve");
    size_t size = 65u << 20;
    char *text = gg_malloc(size);
    memset(text, 'x', size);
    gg_overlay_file overlay = {GG_STR("/w/big.py"), {text, size}};
    gg_capture_request request = {.file = overlay.file, .overlay = &overlay, .overlay_count = 1};
    submit(f);
    job *big = &f->jobs[f->job_count++];
    big->f = f;
    big->id = gg_worker_submit(f->worker, gg_capture_request_encode(&request), on_frame, big);
    gg_free(text);
    submit(f);
    run_all(f);
    assert_string_equal(big->status, "error");
    assert_non_null(strstr(big->message, "over the limit of 64 MiB"));
    assert_string_equal(f->jobs[0].status, "ok");
    assert_string_equal(f->jobs[2].status, "ok");
    assert_int_equal(count_in_log(f, "capture 2"), 0);
}

/* ---- cancel ------------------------------------------------------------------------------------------------------------------ */

static void cancel_all(fixture *f, job *j) {
    (void)j;
    for (size_t i = 0; i < f->job_count; i++) gg_worker_cancel(f->worker, f->jobs[i].id);
    gg_worker_cancel(f->worker, 4711);
    gg_worker_cancel(f->worker, 0);
}

static void cancel_second(fixture *f, job *j) {
    (void)j;
    gg_worker_cancel(f->worker, f->jobs[1].id);
    gg_worker_cancel(f->worker, f->jobs[1].id);
}

static void test_cancel_a_job_that_waits(void **state) {
    fixture *f = *state;
    begin(f, "hello ready take started break done serve");
    submit(f)->at_frame = cancel_second;
    for (int i = 0; i < 2; i++) submit(f);
    run_all(f);
    assert_string_equal(f->jobs[0].status, "ok");
    assert_string_equal(f->jobs[1].status, "canceled");
    assert_string_equal(f->jobs[2].status, "ok");
    assert_int_equal(count_in_log(f, "capture 2"), 0);
    assert_int_equal(count_in_log(f, "cancel"), 0);
}

static void test_cancel_before_the_process_is_ready(void **state) {
    fixture *f = *state;
    begin(f, "hello hang");
    submit(f);
    submit(f);
    cancel_all(f, NULL);
    assert_int_equal(f->jobs[0].dones, 0);
    run_all(f);
    assert_string_equal(f->jobs[0].status, "canceled");
    assert_string_equal(f->jobs[1].status, "canceled");
}

static void test_cancel_a_job_that_runs(void **state) {
    fixture *f = *state;
    begin(f, "hello ready take started take break done:canceled serve");
    submit(f)->at_frame = cancel_all;
    run_all(f);
    submit(f);
    run_all(f);
    assert_string_equal(f->jobs[0].ops, "sb");
    assert_string_equal(f->jobs[0].status, "canceled");
    assert_string_equal(f->jobs[1].status, "ok");
    assert_int_equal(count_in_log(f, "cancel 1"), 1);
    cancel_all(f, NULL); /* all done: nothing is there to cancel */
}

static void test_a_worker_that_ignores_cancel_is_replaced(void **state) {
    fixture *f = *state;
    f->limits.cancel_ms = SHORT_MS;
    begin(f, "hello ready take started take hang|hello ready serve");
    submit(f)->at_frame = cancel_all;
    RUN_UNTIL(f, f->jobs[0].dones);
    submit(f);
    run_all(f);
    assert_string_equal(f->jobs[0].status, "canceled");
    assert_string_equal(f->jobs[1].status, "ok");
    assert_int_equal(count_in_log(f, "start"), 2);
}

static void test_frames_do_not_lengthen_the_wait_for_a_canceled_job(void **state) {
    fixture *f = *state;
    f->limits.cancel_ms = SHORT_MS;
    begin(f, "hello ready take started take drip|hello ready serve");
    submit(f)->at_frame = cancel_all;
    run_all(f);
    assert_string_equal(f->jobs[0].status, "canceled");
}

static void test_a_canceled_job_is_canceled_also_when_its_process_dies(void **state) {
    fixture *f = *state;
    begin(f, "hello ready take started take exit:1|hello ready serve");
    submit(f)->at_frame = cancel_all;
    submit(f);
    run_all(f);
    assert_string_equal(f->jobs[0].status, "canceled");
    assert_string_equal(f->jobs[1].status, "canceled");
}

/* ---- close ------------------------------------------------------------------------------------------------------------------- */

static void close_it(fixture *f, job *j) {
    (void)j;
    close_worker(f);
}

static void expect_canceled(fixture *f, size_t from) {
    RUN_UNTIL(f, f->closed);
    for (size_t i = from; i < f->job_count; i++) {
        assert_int_equal(f->jobs[i].dones, 1);
        assert_string_equal(f->jobs[i].status, "canceled");
    }
}

static void test_close_at_once(void **state) {
    fixture *f = *state;
    begin(f, "hello ready serve");
    submit(f);
    close_worker(f);
    expect_canceled(f, 0);
}

static void test_close_without_a_start(void **state) {
    fixture *f = *state;
    begin(f, "hello ready serve");
    close_worker(f);
    expect_canceled(f, 0);
    assert_int_equal(count_in_log(f, "start"), 0);
}

static void test_close_while_starting(void **state) {
    fixture *f = *state;
    begin(f, "hello hang");
    submit(f);
    submit(f);
    RUN_UNTIL(f, gg_worker_get_info(f->worker)->python_version);
    close_worker(f);
    expect_canceled(f, 0);
}

static void test_close_from_a_frame_of_a_job(void **state) {
    fixture *f = *state;
    begin(f, "hello ready take started break hang");
    submit(f)->at_frame = close_it;
    submit(f);
    expect_canceled(f, 0);
    assert_string_equal(f->jobs[0].ops, "s");
}

static void test_close_from_the_end_of_a_job(void **state) {
    fixture *f = *state;
    begin(f, "hello ready serve");
    submit(f)->then = close_it;
    for (int i = 0; i < 3; i++) submit(f);
    expect_canceled(f, 1);
    assert_string_equal(f->jobs[0].status, "ok");
}

static void submit_to_a_closing_worker(fixture *f, job *j) {
    json_t *request = json_pack("{s:s}", "op", "capture");
    assert_int_equal(gg_worker_submit(f->worker, request, on_frame, j), 0);
}

static void test_nothing_is_taken_while_closing(void **state) {
    fixture *f = *state;
    begin(f, "hello ready take started hang");
    submit(f)->then = submit_to_a_closing_worker;
    RUN_UNTIL(f, f->jobs[0].ops[0] == 's');
    gg_worker_close(f->worker, on_closed, f);
    f->worker = NULL;
    expect_canceled(f, 0);
}

static void test_close_from_the_answer_to_a_job_that_waits(void **state) {
    fixture *f = *state;
    begin(f, "hello hang");
    submit(f)->then = close_it;
    for (int i = 0; i < 3; i++) submit(f);
    cancel_all(f, NULL);
    expect_canceled(f, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        WORKER_TEST(test_jobs_run_one_after_the_other),
        WORKER_TEST(test_submit_from_a_callback),
        WORKER_TEST(test_submit_from_the_callback_of_a_lost_job),
        WORKER_TEST(test_frames_nobody_asked_for_are_ignored),
        WORKER_TEST(test_done_twice),
        WORKER_TEST(test_done_of_a_job_that_waits),
        WORKER_TEST(test_bytes_that_are_no_frame),
        WORKER_TEST(test_a_frame_over_the_limit),
        WORKER_TEST(test_a_frame_that_is_no_object),
        WORKER_TEST(test_an_empty_frame),
        WORKER_TEST(test_a_flood_on_stderr),
        WORKER_TEST(test_a_request_over_the_limit_fails_alone),
        WORKER_TEST(test_cancel_a_job_that_waits),
        WORKER_TEST(test_cancel_before_the_process_is_ready),
        WORKER_TEST(test_cancel_a_job_that_runs),
        WORKER_TEST(test_a_worker_that_ignores_cancel_is_replaced),
        WORKER_TEST(test_frames_do_not_lengthen_the_wait_for_a_canceled_job),
        WORKER_TEST(test_a_canceled_job_is_canceled_also_when_its_process_dies),
        WORKER_TEST(test_close_at_once),
        WORKER_TEST(test_close_without_a_start),
        WORKER_TEST(test_close_while_starting),
        WORKER_TEST(test_close_from_a_frame_of_a_job),
        WORKER_TEST(test_close_from_the_end_of_a_job),
        WORKER_TEST(test_nothing_is_taken_while_closing),
        WORKER_TEST(test_close_from_the_answer_to_a_job_that_waits),
    };
    return cmocka_run_group_tests(tests, be_subreaper, NULL);
}
