/* links: gg_server */
/* A worker behind a launcher: what it prints first, how it fails, how it is left, and paths on the way there and back. */
#include "worker_fixture.h"

static void run_all(fixture *f) {
    RUN_UNTIL(f, all_done(f));
}

/* A launcher that runs `script` of sh, where "$@" is the worker. */
static void begin_behind(fixture *f, const char *script, const char *fake) {
    const char *words[] = {"/bin/sh", "-c", script, "launcher"};
    for (size_t i = 0; i < GG_COUNT(words); i++) gg_list_push(&f->remote.command, gg_str_dup(gg_str_from(words[i])));
    f->remote.program = gg_str_dup(GG_STR(GG_FAKE_WORKER));
    begin(f, fake);
}

static void test_the_protocol_on_stdio(void **state) {
    fixture *f = *state;
    begin_behind(f, "exec \"$@\"", "hello ready take started break done serve");
    submit(f);
    submit(f);
    run_all(f);
    assert_string_equal(f->jobs[0].ops, "sb");
    assert_string_equal(f->jobs[0].status, "ok");
    assert_string_equal(f->jobs[1].status, "ok");
    char *log = read_log(f);
    assert_non_null(
        strstr(log, "option --python\noption /usr/bin/python3\noption --workspace\noption /w\ncapture 1 /w/net.py\n"));
    gg_free(log);
}

static void test_what_a_login_prints_is_skipped(void **state) {
    fixture *f = *state;
    begin_behind(f, "echo Welcome to gpu01; echo '{\"op\":1}'; echo motd >&2; printf 'no newline'; exec \"$@\"",
                 "hello ready serve");
    submit(f);
    run_all(f);
    assert_string_equal(f->jobs[0].status, "ok");
    assert_int_equal(f->failures, 0);
}

static void test_a_login_that_never_stops_printing(void **state) {
    fixture *f = *state;
    begin_behind(f, "yes spam", "hello ready serve");
    submit(f);
    run_all(f);
    assert_string_equal(f->jobs[0].status, "crashed");
    assert_non_null(strstr(f->jobs[0].message, "the launcher /bin/sh wrote"));
    assert_non_null(strstr(f->jobs[0].message, "none of graphglue-worker's; they begin with: spam"));
}

static void test_a_login_that_prints_and_hangs(void **state) {
    fixture *f = *state;
    f->limits.hello_ms = 500;
    begin_behind(f, "echo; echo Password:; sleep 600", "");
    submit(f);
    run_all(f);
    assert_non_null(strstr(f->jobs[0].message,
                           "the launcher /bin/sh did not answer within 0.5 s; the last that it said: Password:"));
}

static void test_a_launcher_that_finds_no_worker(void **state) {
    fixture *f = *state;
    begin_behind(f, "echo hello; nonexistent-worker \"$@\"", "");
    submit(f);
    run_all(f);
    assert_string_equal(f->jobs[0].status, "crashed");
    assert_non_null(strstr(f->jobs[0].message, "the launcher /bin/sh ended by itself (exit code 127): "));
    assert_non_null(strstr(f->jobs[0].message, "nonexistent-worker: not found"));
}

static void test_a_launcher_that_does_not_exist(void **state) {
    fixture *f = *state;
    gg_list_push(&f->remote.command, gg_str_dup(GG_STR("/nonexistent/ssh")));
    begin(f, "");
    submit(f);
    run_all(f);
    assert_string_equal(f->jobs[0].message, "/nonexistent/ssh could not be started: no such file or directory");
    assert_string_equal(f->jobs[0].status, "error");
}

static void test_a_launcher_dies_during_a_job(void **state) {
    fixture *f = *state;
    begin_behind(f, "exec \"$@\"", "hello ready take started die:9|hello ready serve");
    submit(f);
    submit(f);
    run_all(f);
    assert_string_equal(f->jobs[0].status, "crashed");
    assert_string_equal(f->jobs[1].status, "ok");
}

/* The end of stdin is what a remote worker sees of ours; a launcher that does not pass it on is killed. */
static void test_the_launcher_is_left_in_peace(void **state) {
    fixture *f = *state;
    begin_behind(f, "\"$@\"; echo end >>\"$GRAPHGLUE_FAKE_LOG\"", "hello ready serve");
    submit(f);
    run_all(f);
    close_worker(f);
    RUN_UNTIL(f, f->closed);
    assert_int_equal(count_in_log(f, "end\n"), 1);
}

static void test_a_launcher_that_does_not_leave_is_killed(void **state) {
    fixture *f = *state;
    begin_behind(f, "exec \"$@\"", "hello ready take started hang");
    submit(f);
    RUN_UNTIL(f, f->jobs[0].ops[0]);
    close_worker(f);
    RUN_UNTIL(f, f->closed);
}

static void test_paths_go_there_and_come_back(void **state) {
    fixture *f = *state;
    assert_int_equal(gg_remote_add_map(&f->remote, "/w=/data/there", NULL), 0);
    begin_behind(f, "exec \"$@\"",
                 "hello ready take started file:/data/there/a/b.py file:/usr/lib/x.py file:<string> done serve");
    submit(f);
    run_all(f);
    assert_string_equal(f->jobs[0].files, "/w/a/b.py remote:/usr/lib/x.py <string> ");
    char *log = read_log(f);
    assert_non_null(strstr(log, "option --workspace\noption /data/there\ncapture 1 /data/there/net.py\n"));
    gg_free(log);
}

static void test_a_file_that_is_not_there_is_told(void **state) {
    fixture *f = *state;
    assert_int_equal(gg_remote_add_map(&f->remote, "/elsewhere=/data/there", NULL), 0);
    begin_behind(f, "exec \"$@\"", "hello ready serve");
    submit(f);
    run_all(f);
    assert_string_equal(f->jobs[0].status, "error");
    assert_non_null(strstr(f->jobs[0].message, "/w/net.py lies in no folder that worker.pathMap"));
    submit_file(f, "/elsewhere/net.py", 1000);
    run_all(f);
    assert_string_equal(f->jobs[1].status, "ok");
    assert_int_equal(count_in_log(f, "--workspace"), 0); /* /w has no counterpart */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        WORKER_TEST(test_the_protocol_on_stdio),
        WORKER_TEST(test_what_a_login_prints_is_skipped),
        WORKER_TEST(test_a_login_that_never_stops_printing),
        WORKER_TEST(test_a_login_that_prints_and_hangs),
        WORKER_TEST(test_a_launcher_that_finds_no_worker),
        WORKER_TEST(test_a_launcher_that_does_not_exist),
        WORKER_TEST(test_a_launcher_dies_during_a_job),
        WORKER_TEST(test_the_launcher_is_left_in_peace),
        WORKER_TEST(test_a_launcher_that_does_not_leave_is_killed),
        WORKER_TEST(test_paths_go_there_and_come_back),
        WORKER_TEST(test_a_file_that_is_not_there_is_told),
    };
    return cmocka_run_group_tests(tests, be_subreaper, NULL);
}
