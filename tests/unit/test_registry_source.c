/* links: gg_server */
/* A registry is read once, by whoever needs it first, on any thread; what cannot be read is none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>
#include <uv.h>

#include "server/registry_source.h"

#define TEXT "{\"GB0001\": [{\"Gb_type\": \"a type\", \"Context\": \"\", \"Explanation\": \"Why.\", \"Hints\": []}]}"

static void test_of_text(void **state) {
    (void)state;
    gg_registry_source *source = gg_registry_source_new("/nonexistent", TEXT);
    gg_registry_row row;
    const gg_registry *registry = gg_registry_source_get(source);
    assert_true(gg_registry_find(registry, GG_STR("GB0001"), &row));
    assert_true(gg_str_is(row.type, "a type"));
    assert_ptr_equal(gg_registry_source_get(source), registry);
    gg_registry_source *other = gg_registry_source_ref(source);
    gg_registry_source_unref(&source);
    assert_null(source);
    assert_ptr_equal(gg_registry_source_get(other), registry);
    gg_registry_source_unref(&other);
}

static void test_of_a_file(void **state) {
    (void)state;
    char path[] = "/tmp/gg-registry-XXXXXX";
    int fd = mkstemp(path);
    assert_int_equal(write(fd, TEXT, sizeof(TEXT) - 1), sizeof(TEXT) - 1);
    close(fd);
    gg_registry_source *source = gg_registry_source_new(path, NULL);
    const gg_registry *registry = gg_registry_source_get(source);
    assert_non_null(registry);
    unlink(path);
    assert_ptr_equal(gg_registry_source_get(source), registry);
    gg_registry_source_unref(&source);
}

static void test_none(void **state) {
    (void)state;
    gg_log_set_level(GG_LOG_ERROR);
    assert_null(gg_registry_source_new(NULL, NULL));
    assert_null(gg_registry_source_ref(NULL));
    assert_null(gg_registry_source_get(NULL));
    gg_registry_source *sources[] = {gg_registry_source_new("/nonexistent/registry.json", NULL),
                                     gg_registry_source_new(NULL, "[half"), gg_registry_source_new(NULL, "[]")};
    for (size_t i = 0; i < GG_COUNT(sources); i++) {
        assert_null(gg_registry_source_get(sources[i]));
        assert_null(gg_registry_source_get(sources[i]));
        gg_registry_source_unref(&sources[i]);
    }
}

static void test_which_it_is(void **state) {
    (void)state;
    gg_registry_source *file = gg_registry_source_new("/a", NULL), *text = gg_registry_source_new("/a", TEXT);
    assert_true(gg_registry_source_is(file, "/a", NULL));
    assert_false(gg_registry_source_is(file, "/b", NULL));
    assert_false(gg_registry_source_is(file, "/a", TEXT));
    assert_true(gg_registry_source_is(text, "/a", TEXT));
    assert_false(gg_registry_source_is(NULL, "/a", NULL));
    gg_registry_source_unref(&file);
    gg_registry_source_unref(&text);
}

typedef struct reader {
    gg_registry_source *source;
    const gg_registry *got;
} reader;

static void read_one(void *argument) {
    reader *r = argument;
    r->got = gg_registry_source_get(r->source);
    gg_registry_source_unref(&r->source);
}

static void test_many_readers(void **state) {
    (void)state;
    enum { READERS = 8 };
    uv_thread_t threads[READERS];
    reader readers[READERS];
    gg_registry_source *source = gg_registry_source_new(NULL, TEXT);
    for (int i = 0; i < READERS; i++) {
        readers[i] = (reader){.source = gg_registry_source_ref(source)};
        assert_int_equal(uv_thread_create(&threads[i], read_one, &readers[i]), 0);
    }
    for (int i = 0; i < READERS; i++) uv_thread_join(&threads[i]);
    for (int i = 0; i < READERS; i++) assert_ptr_equal(readers[i].got, gg_registry_source_get(source));
    gg_registry_source_unref(&source);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_of_text),     cmocka_unit_test(test_of_a_file),    cmocka_unit_test(test_none),
        cmocka_unit_test(test_which_it_is), cmocka_unit_test(test_many_readers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
