/* links: gg_server */
/* Written inputs: the worker's lines as edits of a text, what is told of them, and what an entry's lens says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "server/session.h"

static gg_text *text_of(const char *bytes) {
    gg_text *text = NULL;
    assert_int_equal(gg_text_new(&text, gg_str_from(bytes), NULL), 0);
    return text;
}

static void check_edited(const char *before, const char *answer, const char *after) {
    gg_text *text = text_of(before), *edited = NULL;
    gg_edits edits = {0};
    gg_error err = {0};
    json_t *json = json_loads(answer, 0, NULL);
    assert_non_null(json);
    assert_int_equal(gg_inputs_edits(&edits, text, json, &err), 0);
    assert_int_equal(gg_edits_apply(&edited, text, &edits, &err), 0);
    assert_true(gg_str_is(gg_text_bytes(edited), after));
    gg_edits_clear(&edits);
    gg_text_unref(&edited);
    gg_text_unref(&text);
    json_decref(json);
}

static void test_lines_become_edits(void **state) {
    (void)state;
    check_edited("a\nb\n", "{\"edits\":[]}", "a\nb\n");
    check_edited("a\nb\n", "{\"edits\":[{\"line\":2,\"text\":\"y\\n\"},{\"line\":1,\"text\":\"x\\n\"}]}",
                 "a\nx\nb\ny\n");
    check_edited("a\r\nb", "{\"edits\":[{\"line\":9,\"text\":\"\\r\\nc\\r\\n\"}]}", "a\r\nb\r\nc\r\n");
    check_edited("\xEF\xBB\xBF"
                 "a\n",
                 "{\"edits\":[{\"line\":0,\"text\":\"x\\n\"}]}", "\xEF\xBB\xBFx\na\n");
    check_edited("a\rb\r", "{\"edits\":[{\"line\":1,\"text\":\"\xC3\xA9\\r\"}]}", "a\r\xC3\xA9\rb\r");
    check_edited("", "{\"edits\":[{\"line\":0,\"text\":\"x\\n\"}]}", "x\n");
}

static void test_what_is_no_answer(void **state) {
    (void)state;
    static const char *const answers[] = {
        "{}",
        "{\"edits\":{}}",
        "{\"edits\":[1]}",
        "{\"edits\":[{\"line\":\"1\",\"text\":\"x\"}]}",
        "{\"edits\":[{\"line\":-1,\"text\":\"x\"}]}",
        "{\"edits\":[{\"line\":1}]}",
        "{\"edits\":[{\"line\":1,\"text\":null}]}",
    };
    gg_text *text = text_of("a\n");
    for (size_t i = 0; i < GG_COUNT(answers); i++) {
        gg_edits edits = {0};
        gg_error err = {0};
        json_t *json = json_loads(answers[i], 0, NULL);
        assert_int_equal(gg_inputs_edits(&edits, text, json, &err), GG_EFRAME);
        gg_edits_clear(&edits);
        json_decref(json);
    }
    gg_text_unref(&text);
}

static void check_words(const char *answer, const char *words) {
    gg_arena *arena = gg_arena_new();
    json_t *json = json_loads(answer, 0, NULL);
    assert_non_null(json);
    assert_string_equal(gg_arena_z(arena, gg_inputs_words(json, arena)), words);
    json_decref(json);
    gg_arena_free(arena);
}

static void test_what_is_told(void **state) {
    (void)state;
    check_words("{\"left_out\":[],\"notes\":[],\"form\":false}", "");
    check_words("{\"left_out\":[{\"name\":\"A\",\"reason\":\"why\"},{\"name\":\"B\",\"reason\":\"because\"}],"
                "\"notes\":[{\"name\":\"C\",\"reason\":\"other values\"}]}",
                "Not written for A: why; B: because. C: other values");
    check_words("{\"left_out\":[{\"name\":\"A\",\"reason\":\"why\"}],\"form\":true}",
                "What was written is a form to fill in. A: why");
    check_words("{\"notes\":[{\"name\":\"A\"},{},5,{\"reason\":7},{\"name\":\"E\"},{\"name\":\"F\"}]}",
                "A: ; ?: ; ?: ; ?: ; and 2 more");
}

static void check_summary(gg_entry entry, size_t sites, const char *words) {
    gg_arena *arena = gg_arena_new();
    gg_str names[] = {GG_STR("other"), GG_STR("Net"), GG_STR("Net")};
    gg_site items[4] = {{.entries = names, .entry_count = 1}}; /* one that the entry does not hit */
    for (size_t i = 1; i <= sites; i++) items[i] = (gg_site){.entries = names, .entry_count = GG_COUNT(names)};
    gg_site_list list = {items, sites + 1};
    entry.name = GG_STR("Net");
    assert_string_equal(gg_arena_z(arena, gg_entry_summary(&entry, &list, arena)), words);
    gg_arena_free(arena);
}

static void test_what_a_lens_says(void **state) {
    (void)state;
    check_summary((gg_entry){.status = GG_ENTRY_CAPTURED, .graphs = 1}, 0, "one graph");
    check_summary((gg_entry){.status = GG_ENTRY_BREAKS, .graphs = 2, .break_count = 1}, 1, "2 graphs, 1 break");
    check_summary((gg_entry){.status = GG_ENTRY_BREAKS, .graphs = 9, .break_count = 8}, 3,
                  "9 graphs, 8 breaks at 3 sites");
    check_summary((gg_entry){.status = GG_ENTRY_BREAKS, .graphs = 4, .break_count = 3}, 1,
                  "4 graphs, 3 breaks at 1 site");
    check_summary((gg_entry){.status = GG_ENTRY_BREAKS, .graphs = 0, .break_count = 1}, 1, "no graph, 1 break");
    check_summary((gg_entry){.status = GG_ENTRY_BREAKS, .graphs = 1, .break_count = 1}, 1, "one graph, 1 break");
    check_summary((gg_entry){.status = GG_ENTRY_BREAKS, .graphs = 2}, 0, "2 graphs, no break");
    gg_cuda_use cuda = {.asked = true, .elapsed_ms = -1};
    check_summary((gg_entry){.status = GG_ENTRY_CAPTURED, .cuda = cuda}, 0, "one graph (no CUDA device)");
    cuda.device = GG_STR("cuda:1");
    check_summary((gg_entry){.status = GG_ENTRY_CAPTURED, .cuda = cuda}, 0, "one graph, on cuda:1");
    cuda.elapsed_ms = 0.42134;
    check_summary((gg_entry){.status = GG_ENTRY_CAPTURED, .cuda = cuda}, 0, "one graph, 0.421 ms on cuda:1");
    check_summary((gg_entry){.status = GG_ENTRY_NO_INPUTS}, 0, "no example inputs");
    check_summary((gg_entry){.status = GG_ENTRY_TIMEOUT, .graphs = 1, .break_count = 1}, 1, "timed out");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines_become_edits),
        cmocka_unit_test(test_what_is_no_answer),
        cmocka_unit_test(test_what_is_told),
        cmocka_unit_test(test_what_a_lens_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
