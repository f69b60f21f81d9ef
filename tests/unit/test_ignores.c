/* links: gg_analysis */
/* Which code a `# graphglue: ignore` comment is about, and where a new one goes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/gg_analysis.h"

typedef struct file {
    gg_arena *arena;
    gg_tree *tree;
    gg_ignore_list ignores;
} file;

static file file_of(const char *source) {
    file f = {.arena = gg_arena_new()};
    gg_text *text = NULL;
    assert_int_equal(gg_text_new(&text, gg_str_from(source), NULL), 0);
    assert_int_equal(gg_tree_parse(&f.tree, text, NULL, NULL, 0, NULL, NULL), 0);
    gg_text_unref(&text);
    f.ignores = gg_ignores_of(f.tree, f.arena);
    return f;
}

static void clear(file *f) {
    gg_tree_unref(&f->tree);
    gg_arena_free(f->arena);
}

static gg_span span_of(const file *f, const char *part) {
    gg_str bytes = gg_text_bytes(gg_tree_text(f->tree));
    size_t at = gg_str_find(bytes, gg_str_from(part), 0);
    assert_true(at != SIZE_MAX);
    return (gg_span){(uint32_t)at, (uint32_t)(at + strlen(part))};
}

/* Is `part`, found by the rule `skipped-builtin` to be GB0059, ignored? */
static bool ignored(const char *source, const char *part) {
    file f = file_of(source);
    bool out = gg_is_ignored(&f.ignores, span_of(&f, part), GG_STR("GB0059"), GG_STR("skipped-builtin"));
    clear(&f);
    return out;
}

static void test_what_it_names(void **state) {
    (void)state;
    assert_true(ignored("print(x)  # graphglue: ignore\n", "print(x)"));
    assert_true(ignored("print(x)  # graphglue: ignore[GB0059]\n", "print(x)"));
    assert_true(ignored("print(x)  # graphglue: ignore[GB0124, GB0059]\n", "print(x)"));
    assert_true(ignored("print(x)  # graphglue: ignore [gb59,GB0124] it is for me\n", "print(x)"));
    assert_true(ignored("print(x)  #graphglue:ignore[skipped-builtin]\n", "print(x)"));
    assert_true(ignored("print(x)  # noqa: T201 # graphglue: ignore[GB0059]\n", "print(x)"));
    assert_false(ignored("print(x)  # graphglue: ignore[GB0124]\n", "print(x)"));
    assert_false(ignored("print(x)  # graphglue: ignore[]\n", "print(x)"));
    assert_false(ignored("print(x)  # graphglue: ignore[GB0059\n", "print(x)"));
    assert_false(ignored("print(x)  # graphglue: ignored\n", "print(x)"));
    assert_false(ignored("print(x)  # see graphglue: ignore\n", "print(x)"));
    assert_false(ignored("print(x, '# graphglue: ignore')\n", "print(x"));
}

static void test_what_it_is_about(void **state) {
    (void)state;
    assert_false(ignored("print(x)\ny = 1  # graphglue: ignore\n", "print(x)"));
    assert_true(ignored("if a: print(x)  # graphglue: ignore\n", "print(x)"));
    assert_true(ignored("a = 1; print(x)  # graphglue: ignore\n", "print(x)"));
    /* over several lines: at the first, at the last, at that of the part itself, but not at any other */
    assert_true(ignored("y = f(  # graphglue: ignore\n    print(x),\n    2,\n)\n", "print(x)"));
    assert_true(ignored("y = f(\n    print(x),\n    2,\n)  # graphglue: ignore\n", "print(x)"));
    assert_true(ignored("y = f(\n    print(x),  # graphglue: ignore\n    2,\n)\n", "print(x)"));
    assert_false(ignored("y = f(\n    print(x),\n    2,  # graphglue: ignore\n)\n", "print(x)"));
    assert_true(ignored("y = f\"\"\"a\n{print(x)}\n\"\"\"  # graphglue: ignore\n", "print(x)"));
    assert_true(ignored("y = 1 + \\\n    print(x)  # graphglue: ignore\n", "1 + \\\n    print(x)"));
    /* of a compound statement the head, not the body */
    assert_true(ignored("if (print(x) or\n        a):  # graphglue: ignore\n    b()\n", "print(x)"));
    assert_false(ignored("if a:  # graphglue: ignore\n    print(x)\n", "print(x)"));
    assert_false(ignored("def f():  # graphglue: ignore\n    print(x)\n", "print(x)"));
    assert_true(ignored("if a:\n    b()\nelif print(x):  # graphglue: ignore\n    c()\n", "print(x)"));
    /* alone on a line: what follows */
    assert_true(ignored("# graphglue: ignore[GB0059]\n\n# more\nprint(x)\n", "print(x)"));
    assert_true(ignored("# graphglue: ignore\nwhile (a and\n        print(x)):\n    pass\n", "print(x)"));
    assert_false(ignored("print(x)\n# graphglue: ignore\n", "print(x)"));
    assert_true(ignored("print(x)\n\n# graphglue: ignore-file\n", "print(x)"));
    assert_true(ignored("# graphglue: ignore-file[GB0059]\nprint(x)\n", "print(x)"));
    assert_false(ignored("# graphglue: ignore-file[GB0124]\nprint(x)\n", "print(x)"));
    assert_true(ignored("def f(:\r\n    print(x)  # graphglue: ignore\r\n", "print(x)")); /* half typed */
}

/* What the file reads after `part` was ignored; then it must be, and nothing else that was not. */
static void becomes(const char *source, const char *part, const char *expected) {
    file f = file_of(source);
    uint32_t at = 0;
    gg_str with = gg_ignore_comment(f.tree, span_of(&f, part), GG_STR("GB0059"), f.arena, &at);
    gg_str bytes = gg_text_bytes(gg_tree_text(f.tree));
    gg_str now = gg_arena_printf(f.arena, "%.*s%.*s%.*s", (int)at, bytes.ptr, GG_STR_ARG(with), (int)(bytes.len - at),
                                 bytes.ptr + at);
    assert_string_equal(now.ptr, expected);
    if (with.len) assert_true(ignored(now.ptr, part));
    clear(&f);
}

static void test_where_a_new_one_goes(void **state) {
    (void)state;
    becomes("print(x)\ny\n", "print(x)", "print(x)  # graphglue: ignore[GB0059]\ny\n");
    becomes("print(x)  \r\n", "print(x)", "print(x)  # graphglue: ignore[GB0059]  \r\n");
    becomes("print(x)  # why\n", "print(x)", "print(x)  # why  # graphglue: ignore[GB0059]\n");
    becomes("print(x)  # graphglue: ignore[GB0124]\n", "print(x)", "print(x)  # graphglue: ignore[GB0124, GB0059]\n");
    becomes("print(x)  # graphglue: ignore[]\n", "print(x)", "print(x)  # graphglue: ignore[GB0059]\n");
    becomes("y = f(  # graphglue: ignore[GB0124]\n    print(x))\n", "print(x)",
            "y = f(  # graphglue: ignore[GB0124, GB0059]\n    print(x))\n");
    becomes("y = f(\n    print(x),\n)\n", "print(x)", "y = f(\n    print(x),  # graphglue: ignore[GB0059]\n)\n");
    becomes("y = 1 + \\\n    f(print(x)) + \\\n    2\n", "print(x)",
            "y = 1 + \\\n    f(print(x)) + \\\n    2  # graphglue: ignore[GB0059]\n");
    becomes("y = f\"\"\"\n{print(x)}\n\"\"\"\nz\n", "print(x)",
            "y = f\"\"\"\n{print(x)}\n\"\"\"  # graphglue: ignore[GB0059]\nz\n");
    becomes("# graphglue: ignore-file[GB0124]\nprint(x)", "print(x)",
            "# graphglue: ignore-file[GB0124]\nprint(x)  # graphglue: ignore[GB0059]");
    becomes("for a in (print(x),\n          b):\n    pass\n", "print(x)",
            "for a in (print(x),  # graphglue: ignore[GB0059]\n          b):\n    pass\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_it_names),
        cmocka_unit_test(test_what_it_is_about),
        cmocka_unit_test(test_where_a_new_one_goes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
