/* links: gg_server */
/* Stored results: served while everything they depend on is as it was, and never otherwise. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "server/result_cache.h"

static char folder[] = "/tmp/graphglue-cache-XXXXXX";

static const char *in_folder(const char *name) {
    static char paths[4][256];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof(paths[0]), "%s/%s", folder, name);
    return path;
}

static void write_file(const char *name, const char *text) {
    FILE *file = fopen(in_folder(name), "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Long enough for a file system's coarse clock to have moved on. */
static int64_t later_ns(void) {
    usleep(40000);
    return now_ns();
}

static json_t *reads_of(const char *library) {
    return json_pack("[{s:s, s:s}, {s:s, s:s}, {s:s, s:s}]", "file", in_folder("main.py"), "origin", "workspace",
                     "file", in_folder("absent.txt"), "origin", "workspace", "file", in_folder(library), "origin",
                     "library");
}

static char main_path[256];

static gg_cache_key key(void) {
    snprintf(main_path, sizeof(main_path), "%s", in_folder("main.py"));
    return (gg_cache_key){.workspace = folder, .identity = "this build", .file = main_path, .mode = ""};
}

static bool found(gg_cache_key k) {
    json_t *result = gg_cache_find(&k);
    bool right = json_integer_value(json_object_get(result, "answer")) == 42;
    assert_true(result == NULL || right);
    json_decref(result);
    return right;
}

static void store(gg_cache_key k, int64_t started_ns) {
    json_t *result = json_pack("{s:i}", "answer", 42), *reads = reads_of("library.py");
    gg_cache_store(&k, result, reads, started_ns);
    json_decref(reads);
    json_decref(result);
}

static int setup(void **state) {
    (void)state;
    static bool made;
    if (!made) assert_non_null(mkdtemp(folder));
    made = true;
    write_file("main.py", "x = 1\n");
    write_file("library.py", "y = 1\n");
    unlink(in_folder("absent.txt"));
    store(key(), later_ns());
    return 0;
}

static void test_served_while_nothing_changed(void **state) {
    (void)state;
    assert_true(found(key()));
    write_file("main.py", "x = 1\n"); /* the same content */
    assert_true(found(key()));
}

static void test_a_changed_workspace_file(void **state) {
    (void)state;
    write_file("main.py", "x = 2\n");
    assert_false(found(key()));
    write_file("main.py", "x = 1\n");
    assert_true(found(key()));
    unlink(in_folder("main.py"));
    assert_false(found(key()));
}

static void test_a_file_that_was_missing_and_appears(void **state) {
    (void)state;
    write_file("absent.txt", "");
    assert_false(found(key()));
}

static void test_a_library_written_anew(void **state) {
    (void)state;
    usleep(20000);
    write_file("library.py", "y = 1\n"); /* the same content: an upgrade of what it imports leaves it so */
    assert_false(found(key()));
}

static void test_unsaved_text_comes_first(void **state) {
    (void)state;
    gg_cache_key k = key();
    gg_overlay_file unsaved = {gg_str_from(main_path), GG_STR("x = 3\n")},
                    saved = {gg_str_from(main_path), GG_STR("x = 1\n")};
    k.overlay = &unsaved;
    k.overlay_count = 1;
    assert_false(found(k));
    store(k, later_ns());
    assert_true(found(k));
    assert_false(found(key())); /* the disk says otherwise */
    k.overlay = &saved;
    assert_false(found(k));
    write_file("main.py", "x = 3\n");
    assert_true(found(key())); /* saved meanwhile */
}

static void test_other_modes_files_and_builds(void **state) {
    (void)state;
    gg_cache_key k = key();
    k.mode = "train";
    assert_false(found(k));
    k = key();
    k.identity = "another build";
    assert_false(found(k));
    k = key();
    k.file = "/elsewhere/main.py";
    assert_false(found(k));
}

static void test_a_file_changed_during_the_capture_is_not_stored(void **state) {
    (void)state;
    int64_t started = later_ns();
    usleep(20000);
    write_file("main.py", "x = 5\n"); /* while it ran: which text was it? */
    store(key(), started);
    assert_false(found(key()));
}

static void test_unknown_reads_are_not_stored(void **state) {
    (void)state;
    gg_cache_key k = key();
    k.mode = "unknown";
    json_t *result = json_pack("{s:i}", "answer", 42), *null = json_null(), *none = json_array();
    gg_cache_store(&k, result, null, later_ns());
    assert_false(found(k));
    gg_cache_store(&k, result, none, later_ns());
    assert_false(found(k)); /* a capture reads at least its file */
    json_decref(none);
    json_decref(result);
}

static void each_record(const char *format) {
    char command[512];
    snprintf(command, sizeof(command), format, folder);
    assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c): the test's own folder */
}

static void test_damaged_records(void **state) {
    (void)state;
    static const char *const damages[] = {
        "for f in %s/.graphglue/cache/captures/*; do : >$f; done",
        "for f in %s/.graphglue/cache/captures/*; do head -c 60 $f >$f.x; mv $f.x $f; done",
        "for f in %s/.graphglue/cache/captures/*; do echo '[]' >$f; done",
        "for f in %s/.graphglue/cache/captures/*; do echo '{\"identity\":1,\"reads\":[],\"result\":{}}' >$f; done",
        "for f in %s/.graphglue/cache/captures/*; do sed -i 's/\"was\":\"[^\"]*\"/\"was\":7/' $f; done",
        "for f in %s/.graphglue/cache/captures/*; do sed -i 's/\"reads\":.*\\],/\"reads\":[],/' $f; done",
        "for f in %s/.graphglue/cache/captures/*; do head -c 100 /dev/urandom >$f; done",
    };
    for (size_t i = 0; i < GG_COUNT(damages); i++) {
        each_record(damages[i]);
        assert_false(found(key()));
        store(key(), later_ns());
        assert_true(found(key()));
    }
}

static void test_old_records_are_dropped(void **state) {
    (void)state;
    each_record("cd %s/.graphglue/cache/captures && for i in $(seq 2100); do : >old$i.json; done");
    store(key(), later_ns());
    each_record("cd %s/.graphglue/cache/captures && test $(ls | wc -l) -lt 2000");
    assert_true(found(key()));
}

static void test_it_keeps_itself_out_of_version_control(void **state) {
    (void)state;
    each_record("grep -qx '\\*' %s/.graphglue/.gitignore");
}

static void test_a_workspace_that_cannot_be_written(void **state) {
    (void)state;
    gg_cache_key k = key();
    k.workspace = "/proc/nowhere";
    store(k, later_ns());
    assert_false(found(k));
}

static void test_identity(void **state) {
    (void)state;
    write_file("worker.py", "1\n");
    char *a = gg_cache_identity(in_folder("library.py"), folder),
         *b = gg_cache_identity(in_folder("library.py"), folder);
    assert_string_equal(a, b);
    gg_free(b);
    usleep(20000);
    write_file("worker.py", "22\n");
    b = gg_cache_identity(in_folder("library.py"), folder);
    assert_string_not_equal(a, b);
    gg_free(b);
    b = gg_cache_identity(in_folder("main.py"), folder);
    assert_string_not_equal(a, b);
    gg_free(a);
    gg_free(b);
}

static int teardown(void **state) {
    (void)state;
    each_record("rm -rf %s");
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_served_while_nothing_changed, setup),
        cmocka_unit_test_setup(test_a_changed_workspace_file, setup),
        cmocka_unit_test_setup(test_a_file_that_was_missing_and_appears, setup),
        cmocka_unit_test_setup(test_a_library_written_anew, setup),
        cmocka_unit_test_setup(test_unsaved_text_comes_first, setup),
        cmocka_unit_test_setup(test_other_modes_files_and_builds, setup),
        cmocka_unit_test_setup(test_a_file_changed_during_the_capture_is_not_stored, setup),
        cmocka_unit_test_setup(test_unknown_reads_are_not_stored, setup),
        cmocka_unit_test_setup(test_damaged_records, setup),
        cmocka_unit_test_setup(test_old_records_are_dropped, setup),
        cmocka_unit_test_setup(test_it_keeps_itself_out_of_version_control, setup),
        cmocka_unit_test_setup(test_a_workspace_that_cannot_be_written, setup),
        cmocka_unit_test_setup(test_identity, setup),
    };
    return cmocka_run_group_tests(tests, NULL, teardown);
}
