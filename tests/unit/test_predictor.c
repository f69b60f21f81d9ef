/* links: gg_analysis */
/* A predictor looks again into what an edit touches and what depends on it, and finds what a new one finds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/gg_analysis.h"

#define HEAD   "import torch\nimport torch.nn as nn\n\n\n"
#define HELPER "def helper(x):\n    return x * 2\n\n\n"
#define NET(name, base, body)                                                                                 \
    "class " name "(" base "):\n    def __init__(self):\n        super().__init__()\n        self.flag = 1\n" \
    "\n    def unused(self, x):\n        return x\n\n    def forward(self, x: torch.Tensor):\n" body          \
    "        return x\n\n\n"
#define COMPILED "@torch.compile\ndef compiled(x: torch.Tensor):\n    return helper(x)\n\n\n"
#define PROGRAM                                                                                      \
    HEAD HELPER NET("A", "nn.Module", "        print(x)\n") NET("B", "A", "        x = helper(x)\n") \
        NET("C", "nn.Module", "        if x.sum() > 0:\n            x = x + 1\n") COMPILED "limit = 3\n"

typedef struct edited {
    gg_predictor *predictor;
    gg_text *text;
    gg_tree *tree;
} edited;

static void check(edited *e, size_t *walked) {
    gg_predictions *found = gg_predictor_run(e->predictor, e->tree);
    *walked = gg_predictor_walked(e->predictor);
    gg_prediction_list a = gg_predictions_list(found);
    gg_arena *arena = gg_arena_new();
    gg_prediction_list b = gg_predict(e->tree, arena);
    assert_int_equal(a.len, b.len);
    for (size_t i = 0; i < a.len; i++) {
        assert_int_equal(a.items[i].span.start, b.items[i].span.start);
        assert_int_equal(a.items[i].span.end, b.items[i].span.end);
        assert_true(gg_str_equal(a.items[i].rule, b.items[i].rule));
        assert_true(gg_str_equal(a.items[i].message, b.items[i].message));
        assert_int_equal(a.items[i].certain, b.items[i].certain);
    }
    gg_arena_free(arena);
    gg_predictions_free(found);
}

static void open_text(edited *e, const char *program) {
    size_t walked;
    *e = (edited){.predictor = gg_predictor_new()};
    assert_int_equal(gg_text_new(&e->text, gg_str_from(program), NULL), 0);
    assert_int_equal(gg_tree_parse(&e->tree, e->text, NULL, NULL, 0, NULL, NULL), 0);
    check(e, &walked);
}

/* Replaces the nth `what` (from 0) and says how many entries were walked. */
static size_t replace(edited *e, const char *what, unsigned nth, const char *with) {
    size_t at = gg_str_find(gg_text_bytes(e->text), gg_str_from(what), 0), walked;
    while (nth-- > 0) at = gg_str_find(gg_text_bytes(e->text), gg_str_from(what), at + 1);
    assert_true(at != SIZE_MAX);
    gg_span span = {(uint32_t)at, (uint32_t)(at + strlen(what))};
    gg_change change = {span, (uint32_t)strlen(with)};
    gg_text *text;
    gg_tree *tree;
    assert_int_equal(gg_text_replace(&text, e->text, span, gg_str_from(with), NULL), 0);
    assert_int_equal(gg_tree_parse(&tree, text, e->tree, &change, 1, NULL, NULL), 0);
    gg_text_unref(&e->text);
    gg_tree_unref(&e->tree);
    e->text = text;
    e->tree = tree;
    check(e, &walked);
    return walked;
}

static void close_text(edited *e) {
    gg_predictor_free(e->predictor);
    gg_tree_unref(&e->tree);
    gg_text_unref(&e->text);
}

static void test_only_what_depends_is_walked(void **state) {
    (void)state;
    edited e;
    open_text(&e, PROGRAM);
    assert_int_equal(replace(&e, "print(x)", 0, "print(x, 1)"), 1);                   /* A.forward, which B overrides */
    assert_int_equal(replace(&e, "        return x\n", 0, "        return -x\n"), 0); /* A.unused */
    assert_int_equal(replace(&e, "x.sum() > 0", 0, "x.sum() > 11"), 1);               /* C */
    assert_int_equal(replace(&e, "x * 2", 0, "x * 3"), 2);                            /* helper: B and compiled */
    assert_int_equal(replace(&e, "self.flag = 1", 0, "self.flag = 2"), 2);            /* A.__init__: A and B */
    assert_int_equal(replace(&e, "class C", 0, "# between\n\n\nclass C"), 0);
    assert_int_equal(replace(&e, "limit = 3", 0, "limit = 4"), 0);
    assert_int_equal(replace(&e, "# between\n\n\n", 0, "def other():\n    pass\n\n\n"), 2); /* other itself */
    close_text(&e);
}

static void test_what_names_mean(void **state) {
    (void)state;
    edited e;
    open_text(&e, HEAD "flag = 0\n\n\n" NET("A", "nn.Module", "        if flag:\n            print(x)\n")
                      NET("B", "nn.Module", ""));
    assert_int_equal(replace(&e, "flag = 0", 0, "flag = 1"), 1);
    assert_int_equal(replace(&e, "flag = 1\n", 0, "flag = 1\nif torch.cuda.is_available():\n    flag = 0\n"), 1);
    assert_int_equal(replace(&e, "import torch.nn as nn\n", 0, "import torch.nn as nn\nimport nn\n"), 2);
    assert_int_equal(replace(&e, "import nn\n", 0, ""), 2);
    assert_int_equal(replace(&e, "class B", 0, "print = None\n\n\nclass B"), 1); /* it was a builtin */
    close_text(&e);
}

/* An object of two names is changed by one of them. */
static void test_shared_objects(void **state) {
    (void)state;
    edited e;
    open_text(&e, HEAD NET("A", "nn.Module",
                           "        if self.flag:\n            print(x)\n") "one = A()\nother = one\none.flag = "
                                                                            "0\n\n\n@torch.compile\ndef f(x: "
                                                                            "torch.Tensor):\n    return other(x)\n");
    assert_true(replace(&e, "one.flag = 0", 0, "one.flag = 7") >= 1);
    assert_true(replace(&e, "one.flag = 7", 0, "one.flag = None") >= 1);
    close_text(&e);
}

/* What one entry does to the module's lists and objects, no other sees. */
static void test_entries_do_not_meet(void **state) {
    (void)state;
    edited e;
    open_text(&e, HEAD "seen = []\n\n\n" NET("A", "nn.Module", "        seen.append(x)\n")
                      NET("B", "nn.Module", "        if seen:\n            print(x)\n"));
    assert_int_equal(replace(&e, "seen.append(x)", 0, "seen.append(x.sum())"), 1);
    assert_int_equal(replace(&e, "if seen:", 0, "if not seen:"), 1);
    close_text(&e);
}

static void test_syntax_errors(void **state) {
    (void)state;
    edited e;
    open_text(&e, PROGRAM);
    (void)replace(&e, "print(x)", 0, "print(");
    (void)replace(&e, "return x * 2", 0, "return x * 2 + '''");
    (void)replace(&e, "'''", 0, "1");
    (void)replace(&e, "print(", 0, "print(x)");
    assert_int_equal(replace(&e, "print(x)", 0, "print(x, x)"), 1);
    close_text(&e);
}

/* What a module of so many statements takes, each made of a number. */
static size_t steps_of(const char *format, unsigned count) {
    gg_buf source;
    gg_buf_init(&source, SIZE_MAX);
    char line[80];
    for (unsigned i = 0; i < count; i++) {
        int len = snprintf(line, sizeof(line), format, i, i);
        assert_int_equal(gg_buf_append(&source, (gg_str){line, (size_t)len}), 0);
    }
    edited e;
    gg_text *text;
    gg_tree *tree = NULL;
    assert_int_equal(gg_text_new(&text, gg_buf_str(&source), NULL), 0);
    assert_int_equal(gg_tree_parse(&tree, text, NULL, NULL, 0, NULL, NULL), 0);
    e = (edited){.predictor = gg_predictor_new(), .text = text, .tree = tree};
    gg_predictions_free(gg_predictor_run(e.predictor, e.tree));
    size_t steps = gg_predictor_steps(e.predictor);
    close_text(&e);
    gg_buf_clear(&source);
    return steps;
}

static void test_a_long_module_takes_as_long_as_it_is(void **state) {
    (void)state;
    static const char *const formats[] = {"name_%u = %u\n",
                                          "name = %u + %u\n",
                                          "def f%u(x):\n    return x + %u\n",
                                          "def f(x):\n    return x + %u + %u\n",
                                          "class C%u:\n    field = %u\n",
                                          "class C:\n    field = %u\n    other = %u\n"};
    for (size_t i = 0; i < GG_COUNT(formats); i++) {
        size_t few = steps_of(formats[i], 500), many = steps_of(formats[i], 5000);
        assert_true(few >= 500 && many < few * 20);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_long_module_takes_as_long_as_it_is),
        cmocka_unit_test(test_only_what_depends_is_walked),
        cmocka_unit_test(test_what_names_mean),
        cmocka_unit_test(test_shared_objects),
        cmocka_unit_test(test_entries_do_not_meet),
        cmocka_unit_test(test_syntax_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
