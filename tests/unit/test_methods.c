/* links: gg_server */
/* The method table: sorted, complete, and in agreement with protocol/methods.txt. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "server/session.h"

static void test_rows_are_sorted_and_have_handlers(void **state) {
    (void)state;
    size_t count;
    const gg_method *rows = gg_methods(&count);
    for (size_t i = 0; i < count; i++) {
        assert_non_null(rows[i].handler);
        if (i > 0) assert_true(strcmp(rows[i - 1].name, rows[i].name) < 0);
        assert_ptr_equal(gg_method_find(gg_str_from(rows[i].name)), &rows[i]);
    }
    assert_null(gg_method_find(GG_STR("textDocument/none")));
}

static void test_every_row_is_a_method_of_the_protocol(void **state) {
    (void)state;
    gg_error err = {0};
    gg_text *text = NULL;
    assert_int_equal(gg_text_read(&text, GG_SOURCE_DIR "/protocol/methods.txt", &err), 0);
    size_t count;
    const gg_method *rows = gg_methods(&count);
    for (size_t i = 0; i < count; i++) {
        bool found = rows[i].test_only;
        for (uint32_t line = 0; line < gg_text_line_count(text); line++)
            found = found || gg_str_is(gg_text_line(text, line), rows[i].name);
        if (!found) fail_msg("%s is not in protocol/methods.txt", rows[i].name);
    }
    gg_text_unref(&text);
}

static void test_capabilities_are_composed_from_the_rows(void **state) {
    (void)state;
    gg_session session = {.encoding = GG_UTF8};
    json_t *caps = gg_methods_capabilities(&session);
    assert_string_equal(json_string_value(json_object_get(caps, "positionEncoding")), "utf-8");
    static const char *const keys[] = {"hoverProvider", "codeActionProvider", "textDocumentSync", "diagnosticProvider",
                                       "executeCommandProvider"};
    for (size_t i = 0; i < GG_COUNT(keys); i++) assert_non_null(json_object_get(caps, keys[i]));
    json_decref(caps);
}

static void test_uris_and_paths(void **state) {
    (void)state;
    char *path = gg_uri_to_path(GG_STR("file:///a%20b/%C3%A9.py"));
    assert_string_equal(path, "/a b/\xc3\xa9.py");
    char *uri = gg_path_to_uri(path);
    assert_string_equal(uri, "file:///a%20b/%C3%A9.py");
    gg_free(uri);
    gg_free(path);
    assert_null(gg_uri_to_path(GG_STR("untitled:Untitled-1")));
    assert_null(gg_uri_to_path(GG_STR("file:///a%00b")));
    assert_null(gg_uri_to_path(GG_STR("file:///a%FFb")));
    path = gg_uri_to_path(GG_STR("file://localhost/x%2"));
    assert_string_equal(path, "/x%2");
    gg_free(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_are_sorted_and_have_handlers),
        cmocka_unit_test(test_every_row_is_a_method_of_the_protocol),
        cmocka_unit_test(test_capabilities_are_composed_from_the_rows),
        cmocka_unit_test(test_uris_and_paths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
