/* links: gg_analysis */
/* Break records grouped into sites; spans carried through changes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/gg_analysis.h"

static const char path[] = "/workspace/net.py";
static const char program[] = "def g(x):\n"                   /* 1 */
                              "    print(x)\n"                /* 2 */
                              "    return x\n"                /* 3 */
                              "class Net:\n"                  /* 4 */
                              "    def forward(self, x):\n"   /* 5 */
                              "        for i in range(3):\n"  /* 6 */
                              "            if x.sum() > 0:\n" /* 7 */
                              "                x = g(x)\n"    /* 8 */
                              "        return x\n";

#define S(literal) {(literal), sizeof(literal) - 1} /* GG_STR, as a constant initializer */
#define FRAME(file_, function_, line_, col_, end_col_, origin_) \
    {.file = S(file_),                                          \
     .function = S(function_),                                  \
     .line = line_,                                             \
     .end_line = line_,                                         \
     .col = col_,                                               \
     .end_col = end_col_,                                       \
     .origin = GG_ORIGIN_##origin_}

static gg_frame in_g[] = {FRAME("/torch/x.py", "inner", 5, 0, 3, TORCH),
                          FRAME("/workspace/net.py", "g", 2, 4, 12, WORKSPACE),
                          FRAME("/workspace/net.py", "forward", 8, 20, 24, WORKSPACE)};
static gg_frame in_forward[] = {FRAME("/workspace/net.py", "forward", 7, 15, 26, WORKSPACE)};
static gg_frame in_library[] = {FRAME("/std/json.py", "dumps", 3, 0, 1, STDLIB),
                                FRAME("/site/lib.py", "call", 4, 2, 9, LIBRARY),
                                FRAME("/torch/y.py", "t", 1, 0, 1, TORCH)};
static gg_str loop[] = {S("GB7000")};

static gg_sources *sources_with_program(void) {
    gg_sources *sources = gg_sources_new();
    gg_text *text;
    assert_int_equal(gg_text_new(&text, GG_STR(program), NULL), 0);
    gg_sources_put(sources, GG_STR(path), text, NULL);
    gg_text_unref(&text);
    return sources;
}

static void test_grouping(void **state) {
    (void)state;
    gg_break first[] = {
        {.id = GG_STR("GB0059"),
         .type = GG_STR("Failed to trace builtin operator"),
         .reason = GG_STR("why"),
         .stack = in_g,
         .stack_len = 3,
         .skip = true,
         .in_loop = true,
         .aggravations = loop,
         .aggravation_count = 1},
        {.id = GG_STR("GB0059"), .stack = in_g, .stack_len = 3},
        {.id = GG_STR("GB0170"), .stack = in_forward, .stack_len = 1},
    };
    gg_break second[] = {
        {.id = GG_STR("GB0007"), .stack = in_g, .stack_len = 3}, /* the same place, another id */
        {.id = GG_STR("GB0059"), .stack = in_g, .stack_len = 3},
        {.id = GG_STR("GB0007"), .stack = in_library, .stack_len = 3},
        {.id = GG_STR("GB0086")},
    };
    gg_entry entries[] = {
        {.name = GG_STR("a"), .status = GG_ENTRY_BREAKS, .breaks = first, .break_count = GG_COUNT(first)},
        {.name = GG_STR("b"),
         .graphs = 2,
         .status = GG_ENTRY_BREAKS,
         .breaks = second,
         .break_count = GG_COUNT(second)}};
    gg_sources *sources = sources_with_program();
    gg_arena *arena = gg_arena_new();
    gg_site_list sites = gg_sites_group(entries, 2, sources, NULL, arena);
    assert_int_equal(sites.len, 5);

    const gg_site *s = &sites.items[0];
    assert_true(gg_str_is(s->id, "GB0059"));
    assert_false(s->nothing_compiled);
    assert_true(sites.items[1].nothing_compiled); /* only "a" hits it */
    assert_int_equal(s->count, 3);
    assert_int_equal(s->entry_count, 2);
    assert_true(s->skip && s->in_loop && s->in_workspace);
    assert_int_equal(s->aggravation_count, 1);
    assert_true(gg_str_is(s->enclosing, "g"));
    assert_true(gg_str_is(s->reason, "why"));
    assert_string_equal(s->category.ptr, "unsupported_operation");
    assert_int_equal(s->range_utf16.start.line, 1);
    assert_int_equal(s->range_utf16.start.character, 4);
    assert_int_equal(s->range_utf16.end.character, 12);
    assert_int_equal(s->span.end - s->span.start, 8);
    assert_true(s->first == &first[0]);
    assert_true(gg_str_contains(s->explanation, GG_STR("print(x)")));

    s = &sites.items[1];
    assert_true(gg_str_is(s->enclosing, "Net.forward"));
    assert_true(gg_str_is(gg_explain_short(s, arena),
                          "`if x.sum() > 0` branches on a tensor's value: nothing around it is compiled"));
    assert_true(gg_str_is(sites.items[2].id, "GB0007"));

    s = &sites.items[3]; /* the innermost frame outside torch and the standard library; its file cannot be read */
    assert_true(gg_str_is(s->file, "/site/lib.py"));
    assert_false(s->in_workspace);
    assert_int_equal(s->range_utf16.start.line, 3);
    assert_int_equal(s->range_utf16.end.character, 9);
    assert_true(gg_str_is(s->enclosing, "call"));

    s = &sites.items[4]; /* no stack at all */
    assert_int_equal(s->file.len, 0);
    assert_true(s->explanation.len > 0);
    gg_arena_free(arena);
    gg_sources_free(sources);
}

/* What is not so in each record is not told. */
static void test_facts_of_several_records(void **state) {
    (void)state;
    gg_step map = {.op = GG_STEP_MAP}, same = {.op = GG_STEP_SAME};
    gg_fact one[] = {{.name = GG_STR("x"), .kind = GG_VALUE_TENSOR},
                     {.name = GG_STR("y"), .kind = GG_VALUE_TENSOR},
                     {.name = GG_STR("act"), .kind = GG_VALUE_MODULE, .steps = &map, .step_count = 1}};
    gg_fact other[] = {
        {.name = GG_STR("act"), .kind = GG_VALUE_MODULE, .steps = &same, .step_count = 1},
        {.name = GG_STR("x"), .kind = GG_VALUE_TENSOR, .requires_grad = true, .layout = GG_LAYOUT_DENSE}};
    gg_break breaks[] = {
        {.id = GG_STR("GB0059"), .stack = in_g, .stack_len = 3, .facts = one, .fact_count = GG_COUNT(one)},
        {.id = GG_STR("GB0059"), .stack = in_g, .stack_len = 3, .facts = other, .fact_count = GG_COUNT(other)}};
    gg_entry entry = {.name = GG_STR("a"), .breaks = breaks, .break_count = 2};
    gg_sources *sources = sources_with_program();
    gg_arena *arena = gg_arena_new();
    gg_site_list sites = gg_sites_group(&entry, 1, sources, NULL, arena);
    assert_int_equal(sites.len, 1);
    const gg_fact *facts = sites.items[0].first->facts;
    assert_true(facts[0].requires_grad && facts[0].layout == GG_LAYOUT_STRIDED);
    assert_true(!facts[1].requires_grad && facts[1].layout == GG_LAYOUT_CONTIGUOUS);
    assert_int_equal(facts[2].step_count, 0);
    assert_true(!one[0].requires_grad && one[2].step_count == 1); /* the record's own */
    gg_arena_free(arena);
    gg_sources_free(sources);
}

/* A class is made by the code around it; a function's name stands for its own frame. */
static void test_enclosing_of_definitions(void **state) {
    (void)state;
    gg_frame outer = FRAME("/workspace/net.py", "?", 4, 0, 10, WORKSPACE),
             inner = FRAME("/workspace/net.py", "?", 5, -1, -1, WORKSPACE);
    gg_break breaks[] = {{.id = GG_STR("GB8977"), .stack = &outer, .stack_len = 1},
                         {.id = GG_STR("GB0003"), .stack = &inner, .stack_len = 1}};
    gg_entry entry = {.name = GG_STR("a"), .breaks = breaks, .break_count = 2};
    gg_sources *sources = sources_with_program();
    gg_arena *arena = gg_arena_new();
    gg_site_list sites = gg_sites_group(&entry, 1, sources, NULL, arena);
    assert_int_equal(sites.len, 2);
    assert_true(gg_str_is(sites.items[0].enclosing, "<module>"));
    assert_true(gg_str_contains(sites.items[0].summary, GG_STR("class Net")));
    assert_true(gg_str_is(sites.items[1].enclosing, "Net.forward"));
    gg_arena_free(arena);
    gg_sources_free(sources);
}

/* What a record does not say: a loop that Dynamo unrolled or went on from is one all the same. */
static void test_loops(void **state) {
    (void)state;
    static const struct {
        const char *program;
        uint32_t line;
        bool in_loop;
    } rows[] = {
        {"def f(x):\n    while g(x):\n        pass\n", 2, true},
        {"def f(x):\n    for a in g(x):\n        pass\n", 2, false},
        {"def f(x):\n    for a in b:\n        pass\n    else:\n        g(x)\n", 5, false},
        {"def f(x):\n    for a in b:\n        if a:\n            g(x)\n", 4, true},
        {"for a in b:\n    def f(x):\n        g(x)\n", 3, false},
        {"def f(x):\n    while a:\n        pass\n    else:\n        g(x)\n", 5, false},
        {"def f(x):\n    return [\n        g(x) for a in b]\n", 3, false},
    };
    for (size_t i = 0; i < GG_COUNT(rows); i++) {
        gg_text *text;
        assert_int_equal(gg_text_new(&text, gg_str_from(rows[i].program), NULL), 0);
        gg_str line = gg_text_line(text, rows[i].line - 1);
        int32_t col = (int32_t)(strstr(line.ptr, "g(x)") - line.ptr);
        gg_frame frame = FRAME("/workspace/net.py", "f", rows[i].line, col, col + 4, WORKSPACE);
        gg_break record = {.id = GG_STR("GB0059"), .stack = &frame, .stack_len = 1};
        gg_entry entry = {.name = GG_STR("a"), .breaks = &record, .break_count = 1};
        gg_sources *sources = gg_sources_new();
        gg_sources_put(sources, GG_STR(path), text, NULL);
        gg_text_unref(&text);
        gg_arena *arena = gg_arena_new();
        gg_site_list sites = gg_sites_group(&entry, 1, sources, NULL, arena);
        if (sites.items[0].in_loop != rows[i].in_loop) fail_msg("row %zu", i);
        gg_arena_free(arena);
        gg_sources_free(sources);
    }
}

/* The record that costs most says what runs eagerly; an editor does not show a byte order mark. */
static void test_cost_and_mark(void **state) {
    (void)state;
    gg_frame frame = FRAME("/workspace/net.py", "f", 1, 10, 14, WORKSPACE);
    gg_break breaks[] = {
        {.id = GG_STR("GB0059"), .stack = &frame, .stack_len = 1, .eager_function = GG_STR("f"), .eager_rest = true},
        {.id = GG_STR("GB0059"), .stack = &frame, .stack_len = 1, .eager_function = GG_STR("caller"), .skip = true},
        {.id = GG_STR("GB0059"), .stack = &frame, .stack_len = 1}};
    gg_entry entry = {.name = GG_STR("a"), .breaks = breaks, .break_count = 3};
    gg_sources *sources = gg_sources_new();
    gg_text *text;
    assert_int_equal(gg_text_new(&text,
                                 GG_STR("\xEF\xBB\xBF"
                                        "def f(x): g(x)\n"),
                                 NULL),
                     0);
    gg_sources_put(sources, GG_STR(path), text, NULL);
    gg_text_unref(&text);
    gg_arena *arena = gg_arena_new();
    gg_site_list sites = gg_sites_group(&entry, 1, sources, NULL, arena);
    assert_int_equal(sites.len, 1);
    const gg_site *s = &sites.items[0];
    assert_true(gg_str_is(s->eager_function, "caller") && !s->eager_rest && s->skip);
    assert_int_equal(s->range_utf16.start.character, 10);
    assert_int_equal(s->range_utf16.end.character, 14);
    assert_int_equal(s->span.start, 13);
    gg_arena_free(arena);
    gg_sources_free(sources);
}

static void test_sources(void **state) {
    (void)state;
    gg_sources *sources = sources_with_program();
    gg_error err;
    const gg_tree *tree = gg_sources_tree(sources, GG_STR(path), &err);
    assert_non_null(tree);
    assert_true(gg_sources_tree(sources, GG_STR(path), &err) == tree);
    assert_null(gg_sources_tree(sources, GG_STR("/nowhere/x.py"), &err));
    assert_int_equal(err.code, GG_ENOTFOUND);
    assert_null(gg_sources_tree(sources, GG_STR("/nowhere/x.py"), &err)); /* remembered */
    assert_int_equal(err.code, GG_ENOTFOUND);
    assert_non_null(gg_sources_tree(sources, GG_STR(GG_SOURCE_DIR "/tests/unit/test_sites.c"), &err));
    gg_text *text;
    assert_int_equal(gg_text_new(&text, GG_STR("y = 1\n"), NULL), 0);
    gg_sources_put(sources, GG_STR(path), text, NULL); /* a newer buffer takes its place */
    tree = gg_sources_tree(sources, GG_STR(path), &err);
    assert_true(gg_str_is(gg_text_bytes(gg_tree_text(tree)), "y = 1\n"));
    gg_text_unref(&text);
    gg_sources_free(sources);
}

static void test_carry(void **state) {
    (void)state;
    static const struct {
        gg_span change;
        uint32_t new_len;
        gg_span want; /* of [10, 20) */
        bool clean;
    } rows[] = {
        {{0, 0}, 5, {15, 25}, true},    {{2, 8}, 1, {5, 15}, true},     {{5, 10}, 5, {10, 20}, true},
        {{10, 10}, 3, {13, 23}, true},  {{20, 20}, 3, {10, 20}, true},  {{25, 30}, 0, {10, 20}, true},
        {{12, 14}, 4, {10, 22}, false}, {{15, 15}, 1, {10, 21}, false}, {{10, 20}, 3, {10, 13}, false},
        {{5, 15}, 2, {7, 12}, false},   {{15, 25}, 2, {10, 17}, false}, {{0, 40}, 4, {4, 4}, false},
    };
    for (size_t i = 0; i < GG_COUNT(rows); i++) {
        gg_span span = {10, 20};
        bool clean = gg_span_carry(&span, (gg_change){rows[i].change, rows[i].new_len});
        if (clean != rows[i].clean || span.start != rows[i].want.start || span.end != rows[i].want.end)
            fail_msg("row %zu: [%u, %u) %d", i, span.start, span.end, clean);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_grouping),
                                       cmocka_unit_test(test_facts_of_several_records),
                                       cmocka_unit_test(test_loops),
                                       cmocka_unit_test(test_cost_and_mark),
                                       cmocka_unit_test(test_sources),
                                       cmocka_unit_test(test_carry),
                                       cmocka_unit_test(test_enclosing_of_definitions)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
