/* links: gg_analysis */
/* gg_tree: incremental parsing gives the tree a full parse gives; cancelling; threads share the parser pool. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/gg_analysis.h"

static const char program[] =
    "import torch\r\n\n\nclass Net(torch.nn.Module):\n    def forward(self, x):\r        h = x * 2\n"
    "        if (h.sum() > 0):\n            print(f\"caf\xC3\xA9 {h}\")\n        return h\n";
/* Runs long enough to be balanced: of names, statements, elements, arguments. */
static const char runs[] = "from a import (\n    b,\n    c,\n    d as e,\n    f,\n    g,\n    h,\n    i,\n)\nx, y = a, "
                           "b\nx = 1; y = 2\nz = [1, a.b, *c.d, (e), {f: g}]\n"
                           "# one\nclass C(a, b, *c, d=e):\n    f: int = 1\n    g = 2\n    # two\n    h = 3\n    def "
                           "i(self, j, k=1, *l, **m): return j\n    def n(self): pass\n"
                           "    @o\n    def p(self):\n        with q as r, s(t) as (u, v):\n            w = 1\n        "
                           "    x += 2\n            y = x if w else (yield)\n            return y\n"
                           "def a1(): pass\ndef a2(): pass\ndef a3(): pass\nb1 = c1(d1, e1, f1=2, *g1, "
                           "**h1)(i1).j1[k1, l1:m1]\nb2 = b1 + b1 * b1 - b1\nprint(b2, b1)\ndel b2, b1\n";

static gg_text *text_of(gg_str code) {
    gg_text *text;
    assert_int_equal(gg_text_new(&text, code, NULL), 0);
    return text;
}

static gg_tree *parse(const gg_text *text) {
    gg_tree *tree;
    assert_int_equal(gg_tree_parse(&tree, text, NULL, NULL, 0, NULL, NULL), 0);
    return tree;
}

static bool same_node(TSNode a, TSNode b) {
    return ts_node_symbol(a) == ts_node_symbol(b) && ts_node_start_byte(a) == ts_node_start_byte(b) &&
           ts_node_end_byte(a) == ts_node_end_byte(b) && ts_node_child_count(a) == ts_node_child_count(b) &&
           ts_node_start_point(a).row == ts_node_start_point(b).row &&
           ts_node_start_point(a).column == ts_node_start_point(b).column &&
           ts_node_end_point(a).row == ts_node_end_point(b).row &&
           ts_node_end_point(a).column == ts_node_end_point(b).column && ts_node_is_missing(a) == ts_node_is_missing(b);
}

static void assert_same_tree(const gg_tree *a, const gg_tree *b) {
    TSTreeCursor x = ts_tree_cursor_new(gg_tree_root(a)), y = ts_tree_cursor_new(gg_tree_root(b));
    bool going = true;
    while (going) {
        TSNode m = ts_tree_cursor_current_node(&x), n = ts_tree_cursor_current_node(&y);
        if (!same_node(m, n)) {
            gg_str code = gg_text_bytes(gg_tree_text(a));
            fail_msg("%s [%u,%u) and %s [%u,%u) in:\n%.*s", ts_node_type(m), ts_node_start_byte(m), ts_node_end_byte(m),
                     ts_node_type(n), ts_node_start_byte(n), ts_node_end_byte(n), GG_STR_ARG(code));
        }
        bool down = ts_tree_cursor_goto_first_child(&x);
        assert_int_equal(down, ts_tree_cursor_goto_first_child(&y));
        while (!down && going) {
            down = ts_tree_cursor_goto_next_sibling(&x);
            assert_int_equal(down, ts_tree_cursor_goto_next_sibling(&y));
            if (!down) going = ts_tree_cursor_goto_parent(&x) && ts_tree_cursor_goto_parent(&y);
        }
    }
    ts_tree_cursor_delete(&x);
    ts_tree_cursor_delete(&y);
}

static unsigned next_random(unsigned *seed) {
    *seed = *seed * 1103515245u + 12345u;
    return *seed >> 16 & 0x7FFF;
}

static uint32_t boundary_near(const gg_text *text, uint32_t offset) {
    return gg_text_offset(text, gg_text_position(text, offset, GG_UTF8), GG_UTF8);
}

/* One to four changes at once, as an editor with several cursors or a server that coalesces sends them. */
static void edit_at_random(const char *code) {
    static const char *const pieces[] = {
        "",      "\n", "\r",   "\r\n",      "    ", "x", "(", ")", "\"\"\"", "if y:\n", "#", "\t", "\xF0\x9F\x98\x80",
        "def g", ": ", "\n\n", "lambda: 0", "[h"};
    unsigned seed = 7;
    gg_text *text = text_of(gg_str_from(code));
    gg_tree *tree = parse(text);
    for (int round = 0; round < 400; round++) {
        gg_change changes[4];
        size_t count = 1 + next_random(&seed) % GG_COUNT(changes);
        for (size_t i = 0; i < count; i++) {
            uint32_t len = (uint32_t)gg_text_bytes(text).len;
            uint32_t start = boundary_near(text, next_random(&seed) % (len + 1));
            uint32_t end = boundary_near(text, start + (next_random(&seed) % 3 ? 0 : next_random(&seed) % 12));
            if (end < start) end = start;
            gg_str with = gg_str_from(pieces[next_random(&seed) % GG_COUNT(pieces)]);
            changes[i] = (gg_change){{start, end}, (uint32_t)with.len};
            gg_text *edited;
            assert_int_equal(gg_text_replace(&edited, text, changes[i].span, with, NULL), 0);
            gg_text_unref(&text);
            text = edited;
        }
        gg_tree *incremental, *whole = parse(text);
        assert_int_equal(gg_tree_parse(&incremental, text, tree, changes, count, NULL, NULL), 0);
        assert_same_tree(incremental, whole);
        gg_tree_unref(&tree);
        gg_tree_unref(&whole);
        tree = incremental;
    }
    gg_tree_unref(&tree);
    gg_text_unref(&text);
}

static void test_random_edits(void **state) {
    (void)state;
    edit_at_random(program);
    edit_at_random(runs);
}

/* The last of those who share a tree frees it by gg_tree_unref. */
static void test_shared(void **state) {
    (void)state;
    gg_text *text = text_of((gg_str){program, sizeof(program) - 1});
    gg_tree *tree = parse(text), *other = gg_tree_ref(tree);
    assert_true(gg_tree_unref_shared(&other));
    assert_null(other);
    assert_false(gg_tree_unref_shared(&tree));
    gg_tree_unref(&tree);
    gg_text_unref(&text);
}

/* What cmake/tree-sitter.patch leaves as it was (a supertype under an alias), and where it reads otherwise (as Python does). */
static void test_folded(void **state) {
    (void)state;
    gg_text *text = text_of(GG_STR("with f(*a.b) as (c, d):\n    e, g = c,\n"));
    gg_tree *tree = parse(text);
    assert_false(gg_tree_has_error(tree));
    TSNode splat = gg_node_ancestor(gg_node_at(tree, (gg_span){8, 9}), "list_splat");
    assert_true(gg_str_is(gg_node_text(tree, splat), "*a.b"));
    TSNode target = gg_node_ancestor(gg_node_at(tree, (gg_span){17, 18}), "as_pattern_target");
    assert_int_equal(ts_node_named_child_count(target), 1);
    assert_true(gg_node_is(ts_node_named_child(target, 0), "tuple"));
    TSNode left = ts_node_parent(gg_node_at(tree, (gg_span){28, 29}));
    assert_true(gg_node_is(left, "pattern_list"));
    assert_string_equal(ts_node_field_name_for_child(ts_node_parent(left), 0), "left");
    gg_tree_unref(&tree);
    gg_text_unref(&text);
}

static void test_nodes(void **state) {
    (void)state;
    gg_text *text = text_of(GG_STR("def f(x):\n    return x.sum()\n"));
    gg_tree *tree = parse(text);
    assert_false(gg_tree_has_error(tree));
    TSNode node = gg_node_at(tree, (gg_span){21, 28});
    assert_true(gg_node_is(node, "call"));
    assert_true(gg_str_is(gg_node_text(tree, node), "x.sum()"));
    assert_true(gg_node_is(gg_node_ancestor(node, "function_definition"), "function_definition"));
    assert_true(ts_node_is_null(gg_node_ancestor(node, "class_definition")));
    assert_false(gg_node_is((TSNode){0}, "call"));
    assert_true(gg_tree_text(tree) == text);
    gg_tree *shared = gg_tree_ref(tree);
    gg_tree_unref(&tree);
    assert_true(gg_node_is(gg_tree_root(shared), "module"));
    gg_tree_unref(&shared);
    gg_text_unref(&text);
}

static void test_nul_and_nesting(void **state) {
    (void)state;
    gg_text *text;
    gg_tree *tree;
    assert_int_equal(gg_text_new(&text, GG_STR("x = '\0'\ny = 1\n"), NULL), 0);
    tree = parse(text);
    assert_int_equal(ts_node_end_byte(gg_tree_root(tree)), gg_text_bytes(text).len);
    gg_tree_unref(&tree);
    gg_text_unref(&text);

    enum { DEPTH = 20000 };
    char *deep = gg_malloc(DEPTH);
    memset(deep, '(', DEPTH);
    assert_int_equal(gg_text_new(&text, (gg_str){deep, DEPTH}, NULL), 0);
    tree = parse(text);
    gg_arena *arena = gg_arena_new();
    assert_true(gg_str_is(gg_enclosing_name(tree, DEPTH, arena), "<module>"));
    assert_true(gg_tree_levels(tree) > 1);
    (void)gg_refine_range(tree, 1, 1, DEPTH / 2, DEPTH);
    (void)gg_refine_range(tree, 1, 1, -1, -1);
    gg_arena_free(arena);
    gg_tree_unref(&tree);
    gg_text_unref(&text);
    gg_free(deep);
}

static void test_cancel(void **state) {
    (void)state;
    gg_buf big;
    gg_buf_init(&big, GG_MAX_DOCUMENT_BYTES);
    for (int i = 0; i < 20000; i++) assert_int_equal(gg_buf_append_z(&big, "x = [1, 2, f(3)]\n"), 0);
    gg_text *text = text_of(gg_buf_str(&big));
    atomic_bool cancel = true;
    gg_tree *tree;
    assert_int_equal(gg_tree_parse(&tree, text, NULL, NULL, 0, &cancel, NULL), GG_ECANCELED);
    assert_null(tree);
    atomic_store(&cancel, false);
    assert_int_equal(gg_tree_parse(&tree, text, NULL, NULL, 0, &cancel, NULL), 0); /* the parser is usable again */
    assert_false(gg_tree_has_error(tree));
    gg_tree_unref(&tree);
    gg_text_unref(&text);
    gg_buf_clear(&big);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_edits), cmocka_unit_test(test_shared),          cmocka_unit_test(test_folded),
        cmocka_unit_test(test_nodes),        cmocka_unit_test(test_nul_and_nesting), cmocka_unit_test(test_cancel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
