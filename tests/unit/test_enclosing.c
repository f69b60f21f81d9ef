/* links: gg_analysis */
/* Names and spans of the class and function around an offset.  A '@' comment in the program marks the offsets looked up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/gg_analysis.h"

static const char program[] = "top = 1\n"
                              "@wraps(lambda: deco)\n"
                              "class Outer(make(base)):\n"
                              "    attr = 2\n"
                              "    class Inner:\n"
                              "        @property\n"
                              "        def method(self, a=default, b: note = 1) -> result:\n"
                              "            def nested():\n"
                              "                return deep\n"
                              "            f = lambda y: inside\n"
                              "            class Local:\n"
                              "                def run(self):\n"
                              "                    return here\n"
                              "            return [element for a in b]\n"
                              "async def plain(x):\n"
                              "    return body\n";

static gg_tree *parse(void) {
    gg_text *text;
    gg_tree *tree;
    assert_int_equal(gg_text_new(&text, GG_STR(program), NULL), 0);
    assert_int_equal(gg_tree_parse(&tree, text, NULL, NULL, 0, NULL, NULL), 0);
    gg_text_unref(&text);
    return tree;
}

static uint32_t at(const char *word) {
    const char *hit = strstr(program, word);
    assert_non_null(hit);
    return (uint32_t)(hit - program);
}

static void test_names(void **state) {
    (void)state;
    static const struct {
        const char *word, *name;
    } rows[] = {
        {"top", "<module>"},
        {"deco)", "<lambda>"},
        {"base", "<module>"},
        {"attr", "Outer"},
        {"Inner:", "Outer.Inner"},
        {"property", "Outer.Inner"},
        {"method", "Outer.Inner.method"},
        {"default", "Outer.Inner"},
        {"note", "Outer.Inner"},
        {"result", "Outer.Inner"},
        {"deep", "Outer.Inner.method.<locals>.nested"},
        {"inside", "Outer.Inner.method.<locals>.<lambda>"},
        {"here", "Outer.Inner.method.<locals>.Local.run"},
        {"element", "Outer.Inner.method"},
        {"plain", "plain"},
        {"body", "plain"},
    };
    gg_tree *tree = parse();
    gg_arena *arena = gg_arena_new();
    for (size_t i = 0; i < GG_COUNT(rows); i++) {
        gg_str name = gg_enclosing_name(tree, at(rows[i].word), arena);
        if (!gg_str_is(name, rows[i].name))
            fail_msg("%s: got %.*s, want %s", rows[i].word, GG_STR_ARG(name), rows[i].name);
    }
    gg_arena_free(arena);
    gg_tree_unref(&tree);
}

static void test_definitions(void **state) {
    (void)state;
    static const struct {
        const char *word, *starts; /* NULL: none */
    } rows[] = {
        {"top", NULL},           {"deco)", "@wraps"},     {"attr", "@wraps"},
        {"deep", "class Inner"}, {"here", "class Local"}, {"body", "async def plain"},
    };
    gg_tree *tree = parse();
    for (size_t i = 0; i < GG_COUNT(rows); i++) {
        gg_span span;
        bool found = gg_enclosing_definition(tree, at(rows[i].word), &span);
        assert_int_equal(found, rows[i].starts != NULL);
        if (!found) continue;
        gg_str code = gg_text_slice(gg_tree_text(tree), span);
        if (!gg_str_starts_with(code, gg_str_from(rows[i].starts)))
            fail_msg("%s: got %.*s", rows[i].word, GG_STR_ARG(code));
    }
    gg_tree_unref(&tree);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_names), cmocka_unit_test(test_definitions)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
