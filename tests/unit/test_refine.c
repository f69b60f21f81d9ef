/* links: gg_analysis */
/* Instruction positions → ranges.  The positions are CPython 3.11's, as a capture reports them; -1 is 3.10. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/gg_analysis.h"

typedef struct row {
    const char *program;
    uint32_t line, end_line;
    int32_t col, end_col;
    const char *want;
} row;

static const row rows[] = {
    /* exact positions */
    {"print(h)\n", 1, 1, 0, 8, "print(h)"},
    {"if h.sum() > 0:\n    pass\n", 1, 1, 3, 14, "h.sum() > 0"},
    {"y = a + x[mask]\n", 1, 1, 8, 15, "x[mask]"},
    {"h += x[m]\n", 1, 1, 0, 9, "h += x[m]"},
    {"s = 'caf\xC3\xA9' + t.item()\n", 1, 1, 13, 21, "t.item()"},
    {"for i in range(x):\n    pass\n", 1, 1, 9, 17, "range(x)"},
    /* a jump that carries the whole statement */
    {"if (h > 0).any():\n    h = 1\n", 1, 2, 0, 9, "(h > 0).any()"},
    {"if (h > 0):\n    h = 1\n", 1, 2, 0, 9, "h > 0"},
    {"while (h < 10).any():\n    h = h * 2\n", 1, 2, 0, 13, "(h < 10).any()"},
    {"if a:\n    pass\nelif h.any():\n    pass\nelse:\n    pass\n", 3, 6, 0, 8, "h.any()"},
    {"assert h.all(), ValueError('x')\n", 1, 1, 0, 31, "h.all()"},
    {"with lock:\n    pass\n", 1, 2, 0, 8, "lock"},
    {"with open(p) as f, g():\n    pass\n", 1, 2, 0, 8, "open(p)"},
    {"class A: pass\n", 1, 1, 0, 13, "A"},
    {"class A(B):\n    x = 1\n", 1, 1, 0, 11, "A"},
    {"a = 1\nif b.any():\n    c = 1\n", 2, 2, 0, 11, "b.any()"},
    {"return_ = 1\nassert (x)\n", 2, 2, 0, 10, "x"},
    /* a method call in a chain over several lines begins at its own name */
    {"y = (x\n    .sum()\n    .item())\n", 3, 3, 5, 11, "x\n    .sum()\n    .item()"},
    {"y = foo(\n    a,\n    b.item(),\n)\n", 1, 4, 4, 1, "foo(\n    a,\n    b.item(),\n)"},
    /* what is called stands for the call, the ends of a slice for the subscript, names for what is unpacked into them */
    {"y, _ = self.rnn(x)\n", 1, 1, 7, 15, "self.rnn(x)"},
    {"y = self.rows[i](x)\n", 1, 1, 4, 16, "self.rows[i]"},
    {"y = self.a.b(x)\n", 1, 1, 4, 10, "self.a"},
    {"y = x[: n.max()] + 1\n", 1, 1, 6, 15, "x[: n.max()]"},
    {"y = x[a:b, 0]\n", 1, 1, 6, 9, "x[a:b, 0]"},
    {"a, b = f(x)\n", 1, 1, 0, 4, "f(x)"},
    {"(a, b) = x\n", 1, 1, 0, 6, "x"},
    {"for a, *b in f(x):\n    pass\n", 1, 1, 4, 9, "f(x)"},
    {"x.grad = y\n", 1, 1, 0, 6, "x.grad"},
    /* parentheses and white space */
    {"y = (a and b)\n", 1, 1, 4, 13, "a and b"},
    {"y =  f(x) \n", 1, 1, 4, 10, "f(x)"},
    /* no columns: the statement's header */
    {"if h.sum() > 0:\n    pass\n", 1, 1, -1, -1, "h.sum() > 0"},
    {"    \nprint(h)\n", 2, 2, -1, -1, "print(h)"},
    {"y = f(x)\n", 1, 1, -1, -1, "f(x)"},
    {"def f():\n    return g(x)\n", 2, 2, -1, -1, "g(x)"},
    {"for x in xs():\n    pass\n", 1, 1, -1, -1, "xs()"},
    {"@deco\ndef f():\n    yield 1\n", 1, 1, -1, -1, "f"},
    {"def f():\n    yield 1\n", 1, 1, -1, -1, "f"},
    {"y = foo(\n    a.item(),\n)\n", 2, 2, -1, -1, "a.item()"},
    {"if a:\n    pass\nelse:\n    pass\n", 3, 3, -1, -1, "else:"},
    {"if a:\n    pass\nelif b > c:\n    pass\n", 3, 3, -1, -1, "b > c"},
    /* positions are counted after a byte order mark, lines as Python counts them */
    {"\xEF\xBB\xBFprint(h)\n", 1, 1, 0, 8, "print(h)"},
    {"a = 1\rprint(h)\r\nb = 2\n", 2, 2, 0, 8, "print(h)"},
    /* of another version of the file */
    {"x\n", 9, 9, 4, 12, ""},
    {"print(h)\n", 1, 1, 0, 900, "print(h)"},
    {"print(h)\n", 0, 0, -1, -1, "print(h)"},
    {"", 3, 3, 1, 2, ""},
};

static void test_rows(void **state) {
    (void)state;
    for (size_t i = 0; i < GG_COUNT(rows); i++) {
        const row *r = &rows[i];
        gg_text *text;
        gg_tree *tree;
        assert_int_equal(gg_text_new(&text, gg_str_from(r->program), NULL), 0);
        assert_int_equal(gg_tree_parse(&tree, text, NULL, NULL, 0, NULL, NULL), 0);
        gg_str got = gg_text_slice(text, gg_refine_range(tree, r->line, r->end_line, r->col, r->end_col));
        if (!gg_str_is(got, r->want))
            fail_msg("row %zu (%s): got \"%.*s\", want \"%s\"", i, r->program, GG_STR_ARG(got), r->want);
        gg_tree_unref(&tree);
        gg_text_unref(&text);
    }
}

/* Any position at all gives a span of the text. */
static void test_any_position(void **state) {
    (void)state;
    const char *program = "if (a and\n    b.c(\n  d)):\n\tprint('x')\n@\ndef f(:\n";
    gg_text *text;
    gg_tree *tree;
    assert_int_equal(gg_text_new(&text, gg_str_from(program), NULL), 0);
    assert_int_equal(gg_tree_parse(&tree, text, NULL, NULL, 0, NULL, NULL), 0);
    for (uint32_t line = 0; line < 9; line++)
        for (uint32_t end = 0; end < 9; end++)
            for (int32_t col = -1; col < 14; col++)
                for (int32_t end_col = -1; end_col < 14; end_col++) {
                    gg_span span = gg_refine_range(tree, line, end, col, end_col);
                    assert_true(span.start <= span.end && span.end <= strlen(program));
                }
    gg_tree_unref(&tree);
    gg_text_unref(&text);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows), cmocka_unit_test(test_any_position)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
