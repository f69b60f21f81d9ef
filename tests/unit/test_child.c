/* links: gg_server */
/* A child's start, end and descriptors; the ways in which it may not begin or not end. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "server/child.h"

typedef struct fixture {
    uv_loop_t loop;
    gg_child *child;
    gg_child_end end;
    int ends, closed;
    int out[2]; /* the child's stdout, to be read */
} fixture;

static void on_end(void *data, const gg_child_end *end) {
    fixture *f = data;
    f->end = *end;
    f->ends++;
    assert_int_equal(f->closed, 0);
}

static void on_closed(void *data) {
    ((fixture *)data)->closed++;
}

static int setup(void **state) {
    fixture *f = gg_calloc(1, sizeof(fixture));
    uv_loop_init(&f->loop);
    assert_int_equal(pipe2(f->out, O_CLOEXEC), 0);
    *state = f;
    return 0;
}

static int teardown(void **state) {
    fixture *f = *state;
    uv_run(&f->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&f->loop), 0);
    assert_int_equal(f->closed, 1);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
    close(f->out[0]);
    if (f->out[1] >= 0) close(f->out[1]);
    gg_free(f);
    return 0;
}

static void start(fixture *f, const char *program, const char *script) {
    char *args[] = {(char *)"sh", (char *)"-c", (char *)script, NULL};
    gg_child_options options = {.program = program,
                                .args = args,
                                .fds = {-1, f->out[1], -1, -1},
                                .fd_count = 3,
                                .data = f,
                                .on_end = on_end,
                                .on_closed = on_closed};
    f->child = gg_child_start(&f->loop, &options, NULL);
    assert_non_null(f->child);
}

static void run(fixture *f) {
    uv_run(&f->loop, UV_RUN_DEFAULT);
    assert_int_equal(f->ends, 1);
    assert_int_equal(f->closed, 1);
}

/* All that it wrote; the write end must be nobody's any more. */
static const char *said(fixture *f) {
    static char text[4096];
    size_t length = 0;
    close(f->out[1]);
    f->out[1] = -1;
    for (ssize_t n; (n = read(f->out[0], text + length, sizeof(text) - 1 - length)) > 0;) length += (size_t)n;
    text[length] = '\0';
    return text;
}

static void test_ends(void **state) {
    fixture *f = *state;
    start(f, "sh", "exit 7");
    run(f);
    assert_int_equal(f->end.error, 0);
    assert_int_equal(f->end.exit_status, 7);
    assert_int_equal(f->end.exit_signal, 0);
}

static void test_is_killed(void **state) {
    fixture *f = *state;
    start(f, "/bin/sh", "kill -TERM $$");
    run(f);
    assert_int_equal(f->end.exit_signal, SIGTERM);
}

static void test_does_not_begin(void **state) {
    fixture *f = *state;
    start(f, "/nonexistent/program", "");
    assert_int_equal(f->ends, 0);
    run(f);
    assert_int_equal(f->end.error, UV_ENOENT);
    assert_string_equal(said(f), "");
}

static void test_kill_at_once(void **state) {
    fixture *f = *state;
    start(f, "sh", "sleep 1000");
    gg_child_kill(f->child); /* most likely before it has begun */
    run(f);
    assert_int_equal(f->end.exit_signal, SIGKILL);
}

/* It has a session of its own, all signals, no descriptor but those it was given; what it leaves in its group ends with it. */
static void test_how_it_begins(void **state) {
    fixture *f = *state;
    sigset_t blocked, before;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &blocked, &before);
    signal(SIGUSR2, SIG_IGN);
    int leak = open("/dev/null", O_RDONLY | O_CLOEXEC);
    start(f, "sh",
          "sleep 1000 & grep -E 'SigBlk|SigIgn' /proc/self/status; read -r line; echo read $?; cut -d' ' -f1,5,6 "
          "/proc/$$/stat; echo $$; exec ls /proc/self/fd");
    run(f);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    signal(SIGUSR2, SIG_DFL);
    close(leak);
    char line[64];
    const char *text = said(f);
    assert_non_null(strstr(text, "SigBlk:\t0000000000000000"));
    const char *ignored = strstr(text, "SigIgn:");
    assert_non_null(ignored);
    assert_false(strtoull(ignored + 8, NULL, 16) &
                 (1u << (SIGUSR2 - 1))); /* glibc has two of its own among the others */
    assert_non_null(strstr(text, "read 1\n"));
    int pid = 0, group = 0, session = 0, shell = 0;
    assert_int_equal(sscanf(strstr(text, "read 1\n") + 7, "%d %d %d %d", &pid, &group, &session, &shell), 4);
    assert_true(pid == shell && group == shell && session == shell);
    /* 3 is the folder that ls reads */
    snprintf(line, sizeof(line), "%d\n0\n1\n2\n3\n", shell);
    assert_string_equal(strstr(text, line) + strlen(line), "");
}

/* Our descriptors may have the very numbers that the child's are to have, in another order. */
static void test_descriptors_that_cross(void **state) {
    fixture *f = *state;
    int kept[2];
    kept[0] = fcntl(3, F_DUPFD_CLOEXEC, 100);
    kept[1] = fcntl(1, F_DUPFD_CLOEXEC, 100);
    FILE *one = tmpfile(), *two = tmpfile();
    char *args[] = {(char *)"sh", (char *)"-c", (char *)"echo one >&1; echo two >&3", NULL};
    int first = fcntl(fileno(one), F_DUPFD_CLOEXEC, 20), second = fcntl(fileno(two), F_DUPFD_CLOEXEC, 20);
    dup2(first, 3);  /* is to be its 1 */
    dup2(second, 1); /* is to be its 3 */
    gg_child_options options = {.program = "sh",
                                .args = args,
                                .fds = {-1, 3, -1, 1},
                                .fd_count = 4,
                                .data = f,
                                .on_end = on_end,
                                .on_closed = on_closed};
    f->child = gg_child_start(&f->loop, &options, NULL);
    dup2(kept[1], 1);
    if (kept[0] >= 0)
        dup2(kept[0], 3);
    else
        close(3);
    run(f);
    char text[16] = "";
    rewind(one);
    assert_non_null(fgets(text, sizeof(text), one));
    assert_string_equal(text, "one\n");
    rewind(two);
    assert_non_null(fgets(text, sizeof(text), two));
    assert_string_equal(text, "two\n");
    const int all[] = {kept[0], kept[1], first, second};
    for (size_t i = 0; i < GG_COUNT(all); i++)
        if (all[i] >= 0) close(all[i]);
    fclose(one);
    fclose(two);
}

static void test_seen_though_our_parent_ignored_children(void **state) {
    fixture *f = *state;
    signal(SIGCHLD, SIG_IGN);
    start(f, "sh", "exit 3");
    run(f);
    assert_int_equal(f->end.exit_status, 3);
}

static void test_abandoned(void **state) {
    fixture *f = *state;
    start(f, "sh", "echo $$; exec sleep 1000");
    char text[32] = "";
    assert_true(read(f->out[0], text, sizeof(text) - 1) > 0); /* it has begun */
    gg_child_abandon(f->child);
    uv_run(&f->loop, UV_RUN_DEFAULT);
    assert_int_equal(f->ends, 0);
    assert_int_equal(f->closed, 1);
    pid_t pid = (pid_t)strtol(text, NULL, 10);
    assert_int_equal(kill(pid, SIGKILL), 0);
    for (int i = 0; waitpid(-1, NULL, WNOHANG) >= 0 && i < 5000; i++) usleep(1000); /* the thread reaps it */
}

static void test_abandoned_when_over(void **state) {
    fixture *f = *state;
    start(f, "sh", "exit 0");
    while (said(f)[0]) {}
    gg_child_abandon(f->child); /* over or not: it is closed once, and told at most once */
    uv_run(&f->loop, UV_RUN_DEFAULT);
    assert_true(f->ends <= 1);
    for (int i = 0; waitpid(-1, NULL, WNOHANG) >= 0 && i < 5000; i++) usleep(1000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_ends, setup, teardown),
        cmocka_unit_test_setup_teardown(test_is_killed, setup, teardown),
        cmocka_unit_test_setup_teardown(test_does_not_begin, setup, teardown),
        cmocka_unit_test_setup_teardown(test_kill_at_once, setup, teardown),
        cmocka_unit_test_setup_teardown(test_how_it_begins, setup, teardown),
        cmocka_unit_test_setup_teardown(test_descriptors_that_cross, setup, teardown),
        cmocka_unit_test_setup_teardown(test_seen_though_our_parent_ignored_children, setup, teardown),
        cmocka_unit_test_setup_teardown(test_abandoned, setup, teardown),
        cmocka_unit_test_setup_teardown(test_abandoned_when_over, setup, teardown),
    };
    close_range(3, ~0U, 0); /* what whoever started us has left open */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
