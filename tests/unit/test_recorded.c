/* links: gg_server */
/* Recorded inputs as they are sent to a worker elsewhere: which documents, with which paths, and never more than a ceiling. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "server/recorded.h"

typedef struct project {
    char folder[PATH_MAX], file[PATH_MAX + 32];
    gg_remote remote;
} project;

static void write_file(const project *p, const char *name, const char *bytes, size_t size) {
    char path[PATH_MAX + 64];
    snprintf(path, sizeof(path), "%s/%s", p->folder, name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static void write_text(const project *p, const char *name, const char *text) {
    write_file(p, name, text, strlen(text));
}

static int begin(void **state) {
    static const char *const folders[] = {"", "/deep", "/.graphglue", "/.graphglue/inputs"};
    project *p = gg_calloc(1, sizeof(project));
    char made[] = "/tmp/graphglue-recorded-XXXXXX", path[PATH_MAX + 64];
    assert_non_null(mkdtemp(made));
    assert_non_null(realpath(made, p->folder));
    for (size_t i = 1; i < GG_COUNT(folders); i++) {
        snprintf(path, sizeof(path), "%s%s", p->folder, folders[i]);
        assert_int_equal(mkdir(path, 0700), 0);
    }
    write_text(p, "deep/model.py", "");
    snprintf(p->file, sizeof(p->file), "%s/deep/model.py", p->folder);
    snprintf(path, sizeof(path), "%s=/there", p->folder);
    assert_int_equal(gg_remote_add_map(&p->remote, path, NULL), 0);
    *state = p;
    return 0;
}

static int end(void **state) {
    project *p = *state;
    char command[PATH_MAX + 16];
    snprintf(command, sizeof(command), "rm -r '%s'", p->folder);
    assert_int_equal(system(command), 0);
    gg_remote_clear(&p->remote);
    gg_free(p);
    return 0;
}

/* {"owner": <folder>/<owner>, …} */
static void record(const project *p, const char *name, const char *owner, const char *rest) {
    gg_buf text;
    char path[128];
    gg_buf_init(&text, 1 << 20);
    gg_buf_printf(&text, "{\"version\":1,\"owner\":\"%s/%s\",\"sets\":[]%s}", p->folder, owner, rest);
    snprintf(path, sizeof(path), ".graphglue/inputs/%s", name);
    write_file(p, path, text.ptr, text.len);
    gg_buf_clear(&text);
}

static const json_t *document_of(const json_t *list, size_t index) {
    return json_object_get(json_array_get(list, index), "document");
}

static const char *text_at(const json_t *object, const char *key) {
    return json_string_value(json_object_get(object, key));
}

static void test_those_of_the_file_alone(void **state) {
    project *p = *state;
    record(p, "b.json", "deep/model.py", "");
    record(p, "a.json", "deep/../deep/model.py", "");
    record(p, "other.json", "deep/other.py", "");
    record(p, "no_document.txt", "deep/model.py", "");
    write_text(p, ".graphglue/inputs/broken.json", "{\"owner\":");
    write_text(p, ".graphglue/inputs/list.json", "[]");
    json_t *sent = gg_recorded_read(p->file, &p->remote);
    assert_int_equal(json_array_size(sent), 2);
    assert_string_equal(text_at(json_array_get(sent, 0), "name"), "a.json");
    assert_string_equal(text_at(document_of(sent, 1), "owner"), "/there/deep/model.py");
    json_decref(sent);
}

static void test_paths_of_references(void **state) {
    project *p = *state;
    gg_buf rest;
    gg_buf_init(&rest, 4096);
    gg_buf_printf(
        &rest,
        ",\"target\":{\"module\":\"model\",\"name\":\"Net\",\"file\":\"%s/deep/model.py\"}"
        ",\"kwargs\":{\"file\":\"%s/data\",\"a\":[{\"module\":\"m\",\"name\":\"f\",\"file\":\"/usr/lib/m.py\"},"
        "{\"module\":\"m\",\"name\":\"f\",\"file\":null}]}",
        p->folder, p->folder);
    record(p, "net.json", "deep/model.py", rest.ptr);
    json_t *sent = gg_recorded_read(p->file, &p->remote);
    const json_t *document = document_of(sent, 0), *kwargs = json_object_get(document, "kwargs");
    const json_t *list = json_object_get(kwargs, "a");
    char data[PATH_MAX + 16];
    snprintf(data, sizeof(data), "%s/data", p->folder);
    assert_string_equal(text_at(json_object_get(document, "target"), "file"), "/there/deep/model.py");
    assert_string_equal(text_at(kwargs, "file"), data); /* an argument's value is the program's own */
    assert_true(json_is_null(json_object_get(json_array_get(list, 0), "file")));
    assert_true(json_is_null(json_object_get(json_array_get(list, 1), "file")));
    json_decref(sent);
    gg_buf_clear(&rest);
}

static void test_elements_and_their_ceiling(void **state) {
    project *p = *state;
    enum { HUGE_BYTES = 13 * 1024 * 1024 };
    char *huge = gg_calloc(1, HUGE_BYTES); /* as base64 it is over what is sent */
    record(p, "a.json", "deep/model.py", "");
    record(p, "b.json", "deep/model.py", "");
    record(p, "c.json", "deep/model.py", "");
    write_file(p, ".graphglue/inputs/a.pt", huge, HUGE_BYTES);
    write_file(p, ".graphglue/inputs/b.pt", "PK\x00\xff", 4);
    json_t *sent = gg_recorded_read(p->file, &p->remote);
    assert_int_equal(json_array_size(sent), 2);
    assert_string_equal(text_at(json_array_get(sent, 0), "tensors"), "UEsA/w==");
    assert_true(json_is_null(json_object_get(json_array_get(sent, 1), "tensors")));
    json_decref(sent);
    gg_free(huge);
}

static void test_nothing_was_recorded(void **state) {
    project *p = *state;
    assert_null(gg_recorded_read(p->file, &p->remote));
    assert_null(gg_recorded_read("/nonexistent/model.py", &p->remote));
    record(p, "net.json", "deep/model.py", "");
    assert_int_equal(setenv("GRAPHGLUE_INPUTS", "/nonexistent", 1), 0);
    assert_null(gg_recorded_read(p->file, &p->remote));
    unsetenv("GRAPHGLUE_INPUTS");
}

static void test_base64(void **state) {
    (void)state;
    static const char *const rows[][2] = {{"", ""},
                                          {"f", "Zg=="},
                                          {"fo", "Zm8="},
                                          {"foo", "Zm9v"},
                                          {"foob", "Zm9vYg=="},
                                          {"fooba", "Zm9vYmE="},
                                          {"\xff\xfe", "//4="}};
    for (size_t i = 0; i < GG_COUNT(rows); i++) {
        char *text = gg_base64(gg_str_from(rows[i][0]));
        assert_string_equal(text, rows[i][1]);
        gg_free(text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_those_of_the_file_alone, begin, end),
        cmocka_unit_test_setup_teardown(test_paths_of_references, begin, end),
        cmocka_unit_test_setup_teardown(test_elements_and_their_ceiling, begin, end),
        cmocka_unit_test_setup_teardown(test_nothing_was_recorded, begin, end),
        cmocka_unit_test(test_base64),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
