/* links: gg_analysis */
/* A call that is like one before is replayed: it does all that a walk of it would do, where it is reached. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analysis/gg_analysis.h"

static gg_tree *parse(gg_str source) {
    gg_text *text = NULL;
    gg_tree *tree = NULL;
    assert_int_equal(gg_text_new(&text, source, NULL), 0);
    assert_int_equal(gg_tree_parse(&tree, text, NULL, NULL, 0, NULL, NULL), 0);
    assert_false(gg_tree_has_error(tree));
    gg_text_unref(&text);
    return tree;
}

/* `line rule` and, where it is conditional, ` if ` what, of all that is found behind the first lines. */
static void expect(const char *source, unsigned first, const char *expected) {
    gg_tree *tree = parse(gg_str_from(source));
    gg_arena *arena = gg_arena_new();
    gg_prediction_list list = gg_predict(tree, arena);
    gg_str found = GG_STR("");
    for (size_t i = 0; i < list.len; i++) {
        const gg_prediction *p = &list.items[i];
        unsigned line = gg_text_position(gg_tree_text(tree), p->span.start, GG_UTF8).line + 1;
        if (line < first) continue;
        found = gg_arena_printf(arena, "%.*s%s%u %.*s%s%.*s%s", GG_STR_ARG(found), found.len ? ", " : "", line,
                                GG_STR_ARG(p->rule), p->certain ? "" : " if ", GG_STR_ARG(p->guard),
                                p->in_loop ? " @" : "");
    }
    if (!gg_str_is(found, expected))
        fail_msg("%s\npredicted: %.*s\nexpected:  %s", source, GG_STR_ARG(found), expected);
    gg_tree_unref(&tree);
    gg_arena_free(arena);
}

#define HEAD "import torch\nimport torch.nn as nn\n"
/* Its body of `forward` begins on its sixth line. */
#define NET(name, body)                                                                         \
    "class " name "(nn.Module):\n    def __init__(self, config):\n        super().__init__()\n" \
    "        setup(self, config)\n    def forward(self, x, flag: bool = False):\n" body

/* 12 lines with the head. */
#define SETUP                                                                                                         \
    HEAD "def setup(module, config):\n    module.scale = 2\n    module.norm = nn.LayerNorm(config.width)\n"           \
         "    module.steps = [config.a, config.b, config.c]\n    module.width = config.width + config.a * config.b\n" \
         "def scaled(x):\n    y = x.reshape(-1).relu() + 1\n    z = torch.cat([y, y]) * 2\n"                          \
         "    w = z.sum() + y.mean()\n    return torch.where(w > 0, w, -w)\n"

static void test_what_a_use_shows_holds_where_it_is_replayed(void **state) {
    (void)state;
    expect(SETUP NET("A", "        y = scaled(x)\n        return 1 if x else y\n")
               NET("B", "        y = scaled(x)\n        return 1 if x else y\n"),
           13, "19 tensor-condition, 26 tensor-condition");
}

#define HOLDER                                                                           \
    "class B(nn.Module):\n    def __init__(self, config):\n        super().__init__()\n" \
    "        self.a = A(config)\n    def forward(self, x):\n        return self.a.norm(x).item()\n"

static void test_what_is_set_is_set_again(void **state) {
    (void)state;
    expect(SETUP NET("A", "        return self.norm(x).item() + self.scale\n") HOLDER, 13,
           "18 scalar-from-tensor, 24 scalar-from-tensor");
}

/* 9 lines with the head. */
#define LOUD                                                                                             \
    HEAD "def loud(x: torch.Tensor):\n    a = x.reshape(-1).relu() + 1\n    b = torch.cat([a, a]) * 2\n" \
         "    print(b)\n    for i in range(3):\n        print(a.sum() + b.mean() + i)\n    return a\n"

static void test_conditions_and_loops_are_those_at_hand(void **state) {
    (void)state;
    /* `loud` is found certain by B, whatever A met it under; and what stands behind it depends on each. */
    expect(LOUD "class A(nn.Module):\n    def forward(self, x: torch.Tensor, flag: bool = False):\n"
                "        if flag:\n            x = loud(x)\n        return x.size(0)\n",
           3, "6 skipped-builtin if flag, 8 skipped-builtin if flag @");
    expect(LOUD "class A(nn.Module):\n    def forward(self, x: torch.Tensor, flag: bool = False):\n"
                "        if flag:\n            x = loud(x)\n        return x.size(0)\n"
                "class B(nn.Module):\n    def forward(self, x: torch.Tensor):\n        y = loud(x)\n"
                "        return x.item() + y.item()\n",
           3, "6 skipped-builtin, 8 skipped-builtin @, 18 scalar-from-tensor, 18 scalar-from-tensor");
#define EARLY(name)                                                                                       \
    "class " name "(nn.Module):\n    def forward(self, x: torch.Tensor, flag: bool):\n        if flag:\n" \
    "            return x\n        return loud(x)\n"
    expect(LOUD EARLY("A") EARLY("B"), 3, "6 skipped-builtin if not (flag), 8 skipped-builtin if not (flag) @");
    expect(LOUD "class A(nn.Module):\n    def forward(self, x: torch.Tensor):\n        return loud(x)\n"
                "class B(nn.Module):\n    def forward(self, x: torch.Tensor):\n        for i in range(3):\n"
                "            y = loud(x)\n        return y\n",
           3, "6 skipped-builtin @, 8 skipped-builtin @");
#define LOOP(name)                                                                                              \
    "class " name "(nn.Module):\n    def forward(self, x: torch.Tensor, n: int):\n        for i in range(n):\n" \
    "            y = loud(x)\n        return x.item()\n"
    expect(LOUD LOOP("A") LOOP("B"), 3,
           "6 skipped-builtin if the loop over range(n) runs @, 8 skipped-builtin if the loop over range(n) runs @, "
           "14 scalar-from-tensor if what breaks in front of it is mended, "
           "19 scalar-from-tensor if what breaks in front of it is mended");
}

/* Each class calls the one before it twice. */
static size_t steps_of(unsigned classes) {
    gg_arena *arena = gg_arena_new();
    gg_str source = GG_STR(HEAD "class C0(nn.Module):\n    def forward(self, x: torch.Tensor):\n"
                                "        return x.reshape(-1).relu() + x.sum() * 2 - x.mean()\n");
    for (unsigned i = 1; i < classes; i++)
        source = gg_arena_printf(arena,
                                 "%.*sclass C%u(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
                                 "        self.a = C%u()\n        self.b = C%u()\n"
                                 "    def forward(self, x: torch.Tensor):\n        return self.a(x) + self.b(x)\n",
                                 GG_STR_ARG(source), i, i - 1, i - 1);
    gg_tree *tree = parse(source);
    gg_predictor *predictor = gg_predictor_new();
    gg_predictions_free(gg_predictor_run(predictor, tree));
    size_t steps = gg_predictor_steps(predictor);
    gg_predictor_free(predictor);
    gg_tree_unref(&tree);
    gg_arena_free(arena);
    return steps;
}

static void test_a_class_is_walked_as_often_as_it_is_given_something_else(void **state) {
    (void)state;
    size_t few = steps_of(4), many = steps_of(8);
    assert_true(few > 0 && many < few * 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_a_use_shows_holds_where_it_is_replayed),
        cmocka_unit_test(test_what_is_set_is_set_again),
        cmocka_unit_test(test_conditions_and_loops_are_those_at_hand),
        cmocka_unit_test(test_a_class_is_walked_as_often_as_it_is_given_something_else),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
