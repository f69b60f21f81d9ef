/* links: gg_repair */
/* What answers are read to, and in which words wrong ones are told; lessons. */
#include "llm_fixture.h"

static int read_as(const gg_llm_exchange *exchange, const char *text, gg_llm_stop stop, gg_arena *arena,
                   gg_llm_answer *out, gg_error *err) {
    gg_llm_reply reply = {.text = gg_str_from(text), .stop = stop};
    return gg_llm_read(out, exchange, &reply, arena, err);
}

static void expect_code(const char *answer, const char *code) {
    gg_arena *arena = gg_arena_new();
    gg_llm_answer a;
    gg_error err = {0};
    if (read_as(&gg_llm_repair, answer, GG_LLM_STOP_END, arena, &a, &err) != 0) fail_msg("%s", err.message);
    assert_int_equal(a.fields[0].count, 1);
    assert_string_equal(a.fields[0].items[0].ptr, code);
    gg_arena_free(arena);
}

static void test_generous(void **state) {
    (void)state;
    expect_code("<Optimized Code>\ndef f():\n    pass\n</Optimized Code>", "def f():\n    pass");
    expect_code("<optimized_code>x = 1</Optimized-Code>", "x = 1");
    expect_code("I will put it in <Optimized Code>.\n<Optimized Code>\nx = 2\n</Optimized Code> done", "x = 2");
    expect_code("<Optimized Code>\nHere it is:\n```python\n    x = 3\n```\nThat was it.\n</Optimized Code>",
                "    x = 3");
    expect_code("<Optimized Code>\nx = 4\n", "x = 4");
    expect_code("<Optimized Code>a</Optimized Code> no, <Optimized Code>b</Optimized Code>", "b");
    expect_code("{\"code\": \"x = 5\\n\", \"reasons\": [\"why\"]}", "x = 5");
    expect_code("```json\n{\"code\": \"x = 6\"}\n```", "x = 6");
}

static void expect_words(const gg_llm_exchange *exchange, const char *answer, gg_llm_stop stop, const char *words) {
    gg_arena *arena = gg_arena_new();
    gg_llm_answer a;
    gg_error err = {0};
    assert_int_equal(read_as(exchange, answer, stop, arena, &a, &err), GG_EPARAMS);
    expect_part(gg_str_from(err.message), words, true);
    gg_arena_free(arena);
}

static void test_wrong_answers_are_told(void **state) {
    (void)state;
    expect_words(&gg_llm_repair, "I cannot see how.", GG_LLM_STOP_END, "has no <Optimized Code>");
    expect_words(&gg_llm_repair, "", GG_LLM_STOP_END, "has no <Optimized Code>");
    expect_words(&gg_llm_repair, "<Optimized Code>\ndef f(", GG_LLM_STOP_LENGTH, "cut off");
    expect_words(&gg_llm_repair, "<Optimized Code>x</Optimized Code>", GG_LLM_STOP_REFUSED, "not answered");
    expect_words(&gg_llm_repair, "<Optimized Code>\xff</Optimized Code>", GG_LLM_STOP_END, "UTF-8");
    expect_words(&gg_llm_repair, "{\"code\": 3}", GG_LLM_STOP_END, "\"code\" wants a string");
    expect_words(&gg_llm_repair, "{\"reasons\": []}", GG_LLM_STOP_END, "has no \"code\"");
    expect_words(&gg_llm_more_inputs, "<Input>(1,\n2)</Input>", GG_LLM_STOP_END, "one line");
    expect_words(&gg_llm_explain, "nothing", GG_LLM_STOP_END, "has no <Explanation>");
}

static void test_lists(void **state) {
    (void)state;
    gg_arena *arena = gg_arena_new();
    gg_llm_answer a;
    assert_int_equal(read_as(&gg_llm_explain, "<Explanation> one </Explanation>\n<Explanation>two</Explanation>",
                             GG_LLM_STOP_END, arena, &a, NULL),
                     0);
    assert_int_equal(a.fields[0].count, 2);
    assert_string_equal(a.fields[0].items[0].ptr, "one");
    assert_int_equal(
        read_as(&gg_llm_more_inputs, "{\"inputs\": [\"(torch.ones(2),)\"]}", GG_LLM_STOP_END, arena, &a, NULL), 0);
    assert_string_equal(a.fields[0].items[0].ptr, "(torch.ones(2),)");
    gg_arena_free(arena);
}

/* The prompt's words, the schema and the reader are of one row: what each row asks for can be read. */
static void test_rows_agree(void **state) {
    (void)state;
    static const gg_llm_exchange *const rows[] = {&gg_llm_repair, &gg_llm_explain, &gg_llm_more_inputs};
    gg_arena *arena = gg_arena_new();
    for (size_t i = 0; i < GG_COUNT(rows); i++) {
        gg_str form = gg_llm_format(rows[i], false, arena);
        gg_llm_answer a;
        assert_int_equal(read_as(rows[i], form.ptr, GG_LLM_STOP_END, arena, &a, NULL), 0);
        for (size_t k = 0; k < rows[i]->field_count; k++) {
            assert_int_equal(a.fields[k].count, 1);
            assert_string_equal(a.fields[k].items[0].ptr, rows[i]->fields[k].says);
            expect_part(gg_llm_format(rows[i], true, arena), rows[i]->fields[k].name, true);
        }
        json_t *schema = json_loads(gg_llm_schema(rows[i], arena).ptr, 0, NULL);
        assert_int_equal(json_object_size(json_object_get(schema, "properties")), rows[i]->field_count);
        assert_int_equal(json_array_size(json_object_get(schema, "required")), rows[i]->field_count);
        assert_true(json_is_false(json_object_get(schema, "additionalProperties")));
        json_decref(schema);
    }
    gg_arena_free(arena);
}

/* ---- lessons ------------------------------------------------------------------------------------------------------------ */

static void teach(gg_lessons *lessons, const char *id, const char *before, const char *after, bool fresh) {
    gg_lesson lesson = {gg_str_from(id), gg_str_from(before), gg_str_from(after)};
    assert_int_equal(gg_lessons_add(lessons, &lesson), fresh);
}

static void test_lessons(void **state) {
    (void)state;
    gg_lessons *lessons = gg_lessons_new(), *again = gg_lessons_new();
    teach(lessons, "GB0059", "def f(x):\n    print(x)\n    return x", "def f(x):\n    return x", true);
    teach(lessons, "GB0170", "def g(hidden_states):\n    if hidden_states.sum() > 0:\n        return a", "where", true);
    teach(lessons, "GB0170", "def h(q, k):\n    while q.max() > k:\n        q = q / 2", "halve", true);
    teach(lessons, "GB0170", "def h(q, k):\n    while q.max() > k:\n        q = q / 2", "halve", false);
    teach(lessons, "GB0170", "same", "same", false);
    teach(lessons, "GB0170", "", "x", false);
    const gg_lesson *near[2];
    assert_int_equal(gg_lessons_nearest(lessons, GG_STR("GB0170"), GG_STR("if states.sum() > 0: return"), near, 2), 2);
    assert_string_equal(near[0]->after.ptr, "where");
    assert_int_equal(gg_lessons_nearest(lessons, GG_STR("GB0170"), GG_STR("while q.max() > limit"), near, 1), 1);
    assert_string_equal(near[0]->after.ptr, "halve");
    assert_int_equal(gg_lessons_nearest(lessons, GG_STR_NULL, GG_STR("zzz"), near, 2), 0);
    gg_buf file;
    gg_buf_init(&file, 1 << 20);
    gg_lessons_render(lessons, &file);
    gg_buf_append_z(&file, "no JSON\n[]\n{\"id\": 3}\n\n");
    assert_int_equal(gg_lessons_load(again, gg_buf_str(&file)), 3);
    assert_int_equal(gg_lessons_load(again, gg_buf_str(&file)), 0); /* known */
    for (int i = 0; i < 600; i++) {
        char before[32];
        snprintf(before, sizeof before, "x%d", i);
        teach(again, "GB0001", before, "y", true);
    }
    assert_int_equal(gg_lessons_count(again), 512);
    assert_int_equal(gg_lessons_nearest(again, GG_STR("GB0059"), GG_STR("print"), near, 1), 0); /* the oldest went */
    gg_buf_clear(&file);
    gg_lessons_free(lessons);
    gg_lessons_free(again);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_generous), cmocka_unit_test(test_wrong_answers_are_told),
                                       cmocka_unit_test(test_lists), cmocka_unit_test(test_rows_agree),
                                       cmocka_unit_test(test_lessons)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
