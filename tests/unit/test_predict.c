/* links: gg_analysis */
/* Programs and what is predicted of them: `line rule` for what is certain, `line rule?` for what is conditional. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/gg_analysis.h"

#define MODEL                                                                                                         \
    "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n\n"                                        \
    "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.linear = nn.Linear(4, " \
    "4)\n"

static gg_prediction_list predict(const char *source, gg_arena *arena, gg_tree **tree) {
    gg_text *text = NULL;
    assert_int_equal(gg_text_new(&text, gg_str_from(source), NULL), 0);
    assert_int_equal(gg_tree_parse(tree, text, NULL, NULL, 0, NULL, NULL), 0);
    assert_false(gg_tree_has_error(*tree));
    gg_text_unref(&text);
    return gg_predict(*tree, arena);
}

static void expect(const char *source, const char *expected) {
    gg_arena *arena = gg_arena_new();
    gg_tree *tree = NULL;
    gg_prediction_list list = predict(source, arena, &tree);
    gg_str found = GG_STR("");
    for (size_t i = 0; i < list.len; i++) {
        const gg_prediction *p = &list.items[i];
        unsigned line = gg_text_position(gg_tree_text(tree), p->span.start, GG_UTF8).line + 1;
        found = gg_arena_printf(arena, "%.*s%s%u %.*s%s", GG_STR_ARG(found), found.len ? ", " : "", line,
                                GG_STR_ARG(p->rule), p->certain ? "" : "?");
        assert_true(p->message.len > 0 && p->certain == (p->guard.len == 0 && !p->beyond));
        assert_true(p->beyond ? gg_str_equal(p->id, p->rule) : p->id.len == 6);
    }
    if (!gg_str_is(found, expected))
        fail_msg("%s\npredicted: %.*s\nexpected:  %s", source, GG_STR_ARG(found), expected);
    gg_tree_unref(&tree);
    gg_arena_free(arena);
}

/* The body of forward(self, x: torch.Tensor), from line 11 on. */
#define FORWARD(body) MODEL "\n    def forward(self, x: torch.Tensor):\n" body

static void test_conditions(void **state) {
    (void)state;
    expect(FORWARD("        if x.sum() > 0:\n            x = x + 1\n        return x\n"), "11 tensor-condition");
    expect(FORWARD("        return x if x.any() else -x\n"), "11 tensor-condition");
    expect(FORWARD("        while not (x > 1).all():\n            x = x * 2\n        return x\n"),
           "11 tensor-condition");
    expect(FORWARD("        return [y for y in x if y.sum() > 0]\n"), "11 tensor-condition");
    expect(FORWARD("        if any(y.sum() > 0 for y in x):\n            return x\n        return -x\n"),
           "11 any-all-of-tensors");
    expect(FORWARD("        if x.shape[0] == 2 or x.dim() > 1 or x.is_cuda or x.dtype == torch.float16:\n            "
                   "return x\n"),
           "");
    expect(
        FORWARD("        if x is None or not isinstance(x, torch.Tensor):\n            return 0\n        return x\n"),
        "");
    expect(
        FORWARD(
            "        if not torch.compiler.is_compiling() and x.sum() > 0:\n            print(x)\n        return x\n"),
        "");
}

static void test_asserts(void **state) {
    (void)state;
    expect(FORWARD("        assert x.sum() > 0\n        assert (x > 0).all(), 'positive'\n        return x\n"), "");
    expect(FORWARD("        assert x.min() > 0 and x.max() < 1\n        return x\n"),
           "11 tensor-condition, 11 tensor-condition?");
    expect(FORWARD("        assert 0 < x.sum() < 1\n        return x\n"), "11 tensor-condition");
    expect(FORWARD("        assert x.sum() > 0, f'sum {x.sum()}'\n        return x\n"), "11 tensor-assert");
    expect(FORWARD("        assert x.shape[0] > 0, f'{x.shape}'\n        return x\n"), "");
}

static void test_scalars(void **state) {
    (void)state;
    expect(FORWARD("        n = x.sum().item()\n        return x * n\n"), "11 scalar-from-tensor");
    expect(FORWARD("        n = int(x.argmax())\n        return x[:n]\n"), "11 scalar-from-tensor");
    expect(FORWARD("        n = int(x.shape[0]) + len(x) + int('3')\n        return x[:n]\n"), "");
    expect(FORWARD("        n = x.long().sum()\n        return x[:n]\n"), "12 scalar-from-tensor");
    expect(FORWARD("        for v in x.long().tolist():\n            pass\n        return x\n"), "11 tolist");
    expect("import math\n" FORWARD("        return x * math.sqrt(x.shape[0]) + math.exp(x.mean())\n"),
           "12 math-of-tensor");
    expect(FORWARD("        return x[x > 0].sum()\n"), "11 dynamic-shape");
    expect(FORWARD("        x[x > 0] = 0\n        return x.masked_fill(x < 0, 1)\n"), "");
    expect(FORWARD("        return torch.nonzero(x), torch.where(x > 0, x, 0), torch.where(x > 0)\n"),
           "11 dynamic-shape, 11 dynamic-shape");
    expect(FORWARD("        y = {'a': x.max(), 'n': 3}\n        return x if y['n'] else x\n"), "");
}

static void test_messages(void **state) {
    (void)state;
    expect(FORWARD("        print(x.shape)\n        return x\n"), "11 skipped-builtin");
    expect(
        "import logging\nlog = logging.getLogger(__name__)\n" FORWARD("        log.info('%s', x)\n        return x\n"),
        "13 logging");
    expect("import logging\nlog = logging.getLogger(__name__)\n" FORWARD(
               "        if self.training:\n            log.info('%s', x)\n        return x\n"),
           "14 logging?");
    expect("from warnings import warn\n" FORWARD("        warn('now')\n        return x\n"), "12 warning");
    expect(FORWARD("        if self.training:\n            print('x')\n        return x\n"), "12 skipped-builtin?");
    expect(FORWARD("        def print(y):\n            return y\n        return print(x)\n"), "");
}

/* What follows is reached on a condition only. */
static void test_guards(void **state) {
    (void)state;
    expect(FORWARD("        if x.shape[0] > 1:\n            return x\n        return x.sum().item()\n"),
           "13 scalar-from-tensor?");
    expect(FORWARD("        if x.shape[0] > 1:\n            if x.dim() > 1:\n                return x\n        "
                   "print(1)\n        return x\n"),
           "14 skipped-builtin?");
    expect(FORWARD("        if x.dim() != 2:\n            raise ValueError(f'{x.dim()}')\n        print(1)\n        "
                   "return x\n"),
           "13 skipped-builtin");
    expect(FORWARD("        for i in range(3):\n            if i == 2:\n                continue\n            "
                   "print(i)\n        print(0)\n        return x\n"),
           "14 skipped-builtin?, 15 skipped-builtin?");
    expect(FORWARD("        for y in self.kept:\n            print(y)\n        for y in (1, 2):\n            "
                   "print(y)\n        return x\n"),
           "12 skipped-builtin?, 14 skipped-builtin?");
    expect(FORWARD("        try:\n            y = x + 1\n        except ValueError:\n            print('no')\n        "
                   "return x\n"),
           "14 skipped-builtin?");
    expect(FORWARD("        if False:\n            print('no')\n        if 1 > 2:\n            print('no')\n        "
                   "return x\n"),
           "");
    expect(FORWARD("        if x.sum() > 0:\n            print('a')\n            return x\n        print('b')\n        "
                   "return -x\n"),
           "11 tensor-condition, 12 skipped-builtin?, 14 skipped-builtin?");
}

static void expect_guard(const char *source, const char *guard) {
    gg_arena *arena = gg_arena_new();
    gg_tree *tree = NULL;
    gg_prediction_list list = predict(source, arena, &tree);
    if (list.len != 1) fail_msg("%s\n%zu predictions", source, list.len);
    if (!gg_str_is(list.items[0].guard, guard)) fail_msg("%s\nguard: %.*s", source, GG_STR_ARG(list.items[0].guard));
    gg_tree_unref(&tree);
    gg_arena_free(arena);
}

static void test_words_of_guards(void **state) {
    (void)state;
    expect_guard(FORWARD("        if x.dim() > 1:\n            print(1)\n        return x\n"), "x.dim() > 1");
    expect_guard(
        FORWARD("        if x.dim() > 1:\n            y = 1\n        else:\n            print(1)\n        return x\n"),
        "not (x.dim() > 1)");
    expect_guard(FORWARD("        if x.dim() > 1:\n            return x\n        print(1)\n        return x\n"),
                 "not (x.dim() > 1)");
    expect_guard(FORWARD("        if x.dim() > 1:\n            y = 1\n        else:\n            return x\n        "
                         "print(1)\n        return x\n"),
                 "x.dim() > 1");
    expect_guard(FORWARD("        y = self.n or x.item()\n        return x\n"), "not (self.n)");
    expect_guard(FORWARD("        y = self.n and x.item()\n        return x\n"), "self.n");
    expect_guard(FORWARD("        return x if self.n else x.item()\n"), "not (self.n)");
    expect_guard(FORWARD("        for i in self.n:\n            print(i)\n        return x\n"),
                 "the loop over self.n runs");
    expect_guard(MODEL "\n    def forward(self, x):\n        return x[x > 0]\n", "it is a tensor");
}

/* Into what the entry calls, with what it passes. */
static void test_calls(void **state) {
    (void)state;
    expect("def positive(y):\n    return y if y > 0 else 0\n\n" FORWARD(
               "        return positive(x.shape[0]) + positive(3)\n"),
           "");
    expect("def positive(y):\n    return y if y > 0 else 0\n\n" FORWARD("        return positive(x.sum())\n"),
           "2 tensor-condition");
    expect(FORWARD("        return self.part(x)\n\n    def part(self, y):\n        return y.item()\n"),
           "14 scalar-from-tensor");
    expect(
        FORWARD(
            "        return self.part(x)\n\n    @torch.compiler.disable\n    def part(self, y):\n        return y\n"),
        "11 disabled");
    expect(FORWARD("        return (lambda y: y.item())(x), list(map(lambda y: y.item(), [x]))\n"),
           "11 scalar-from-tensor, 11 scalar-from-tensor");
    expect("import torch.nn as nn\n\nclass Inner(nn.Module):\n    def forward(self, x):\n        return "
           "x.unsqueeze(0).item()\n\n"
           "class Outer(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.parts = "
           "nn.ModuleList([Inner() for _ in range(2)])\n\n"
           "    def forward(self, x):\n        for part in self.parts:\n            x = part(x)\n        return x\n",
           "5 scalar-from-tensor");
    expect("import torch\n\ndef helper(x):\n    print(x)\n\n@torch.compile\ndef entry(x):\n    return helper(x)\n\ndef "
           "alone(x):\n    print(x)\n",
           "4 skipped-builtin");
    expect("def twice(x):\n    return twice(x)\n" FORWARD("        return twice(x)\n"), "");
}

/* A bare parameter is taken for a tensor, and what rests on that alone is conditional. */
static void test_parameters(void **state) {
    (void)state;
    expect(MODEL "\n    def forward(self, x):\n        if x > 0:\n            return x\n        return -x\n",
           "11 tensor-condition?");
    expect(MODEL
           "\n    def forward(self, x):\n        if x > 0:\n            return self.linear(x)\n        return -x\n",
           "11 tensor-condition");
    expect(MODEL "\n    def forward(self, x, flag: bool, scale=1.0, mask=None):\n        if flag or scale > 1 or "
                 "mask:\n            return x\n        return -x\n",
           "");
    expect(MODEL "\n    def forward(self, x, mask: torch.Tensor = None):\n        if mask is not None and "
                 "mask.any():\n            return x\n        return -x\n",
           "11 tensor-condition?");
    expect(MODEL "\n    def forward(self, x, keep: 'bool | torch.Tensor' = False):\n        if keep:\n            "
                 "return x\n        return -x\n",
           "");
}

static void test_attributes(void **state) {
    (void)state;
    expect("import torch\nimport torch.nn as nn\n\nclass Net(nn.Module):\n    def __init__(self):\n        "
           "super().__init__()\n"
           "        self.register_buffer('seen', torch.zeros(1))\n        self.scale = nn.Parameter(torch.ones(1))\n   "
           "     self.n = 3\n\n"
           "    def forward(self, x):\n        if self.seen > 0 or self.n > 2:\n            x = x + 1\n        if "
           "self.other:\n            x = x + 1\n"
           "        return x if self.scale > 0 else -x\n",
           "12 tensor-condition, 16 tensor-condition");
    /* What a constructor takes is no tensor for that. */
    expect("import torch.nn as nn\n\nclass Net(nn.Module):\n    def __init__(self, config):\n        "
           "super().__init__()\n        self.deep = config['deep']\n"
           "        self.size = config.to(1)\n\n    def forward(self, x):\n        return x if self.deep and self.size "
           "> 2 else -x\n",
           "");
}

static void test_annotations(void **state) {
    (void)state;
    static const struct {
        const char *type, *found;
    } rows[] = {
        {"torch.Tensor", "11 tensor-condition"},
        {"torch.LongTensor", "11 tensor-condition"},
        {"'torch.Tensor'", "11 tensor-condition"},
        {"Optional[torch.Tensor]", "11 tensor-condition"},
        {"torch.Tensor | None", "11 tensor-condition"},
        {"None | torch.Tensor", "11 tensor-condition"},
        {"List[torch.Tensor]", ""},
        {"Union[torch.Tensor, int]", ""},
        {"TensorDict", ""},
        {"torch.Tensor | int", ""},
        {"Optional[List[torch.Tensor]]", ""},
        {"int", ""},
    };
    for (size_t i = 0; i < GG_COUNT(rows); i++) {
        char source[1024];
        snprintf(source, sizeof(source), MODEL "\n    def forward(self, x: %s):\n        return x if x > 0 else -x\n",
                 rows[i].type);
        expect(source, rows[i].found);
    }
}

/* What the file's own example inputs say counts, also against the declarations. */
static void test_inputs(void **state) {
    (void)state;
    expect("import torch\n\ndef f(x, n):\n    return x if n > 1 else -x\n\ndef graphglue_inputs():\n    yield 'f', f, "
           "(torch.randn(2), 3), {}\n",
           "");
    expect("import torch\n\ndef f(x, n):\n    return x if n > 1 else -x\n\ndef graphglue_inputs():\n    yield 'f', f, "
           "(torch.randn(2), torch.tensor(3)), {}\n",
           "4 tensor-condition");
    expect("import torch\nimport torch.nn as nn\n\nclass Model(nn.Module):\n    def __init__(self, n):\n        "
           "super().__init__()\n        self.n = n\n\n"
           "    def forward(self, x):\n        return x.item() if self.n > 2 else x\n\ndef get_init_inputs():\n    "
           "return [2]\n\n"
           "def get_inputs():\n    return [torch.randn(2)]\n",
           "");
    expect("import torch\nimport torch.nn as nn\n\nclass Net(nn.Module):\n    def __init__(self, n=1):\n        "
           "super().__init__()\n        self.n = n\n\n"
           "    def forward(self, x, m):\n        return x.item() if self.n > 2 else x if m > 0 else -x\n\n"
           "TESTCASES = [(Net, lambda: ((), {}), lambda: ((torch.randn(2), 1), {})), (Net, lambda: ((3,), {}), lambda: "
           "((torch.randn(2), 1), {}), True)]\n",
           "10 scalar-from-tensor");
}

static void test_families(void **state) {
    (void)state;
    expect("import time\n" FORWARD("        time.sleep(0)\n        return x\n"), "12 skipped-function");
    expect("import numpy as np\n" FORWARD("        return x * np.random.uniform()\n"), "12 numpy");
    expect("import copy\n" FORWARD("        return copy.deepcopy(self.linear)(x), copy.deepcopy([1])\n"),
           "12 deepcopy");
    expect(FORWARD("        return nn.Linear(4, 4)(x), nn.ReLU()(x)\n"), "11 module-in-forward");
    expect(FORWARD("        x.sum().backward()\n        return x\n"), "11 backward");
    expect(FORWARD("        x.unsqueeze_(0)\n        y = x + 1\n        y.unsqueeze_(0)\n        return y\n"),
           "11 storage");
    expect(FORWARD("        with torch.no_grad(), torch.autocast('cpu'):\n            return x\n"), "");
    expect(FORWARD("        with torch.random.fork_rng():\n            return x\n"), "11 context-manager");
    expect(FORWARD("        class Local:\n            pass\n        return x\n"), "11 class-in-function");
    expect(FORWARD("        yield x\n"), "11 generator-function");
    expect(FORWARD("        return len(str(x)), f'{x}'\n"), "11 text-of-tensor");
    expect("import random\n" FORWARD("        return x if random.randint(0, 1) else -x\n"), "12 random-branch");
    expect("import torch.nn as nn\n\nclass Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n      "
           "  self.rnn = nn.LSTM(4, 4)\n\n"
           "    def forward(self, x):\n        return self.rnn(x)[0]\n",
           "9 rnn");
}

/* A break in a loop, or where an exception may be handled, leaves the function to Python: what follows in it is not met. */
static void test_functions_left_to_python(void **state) {
    (void)state;
    expect(FORWARD("        for i in range(2):\n            print(i)\n            print(x)\n        print(2)\n        "
                   "return x\n"),
           "12 skipped-builtin, 13 skipped-builtin?, 14 skipped-builtin?");
    expect(FORWARD("        try:\n            print(1)\n        except ValueError:\n            pass\n        "
                   "print(2)\n        return x\n"),
           "12 skipped-builtin, 15 skipped-builtin?");
    expect(FORWARD("        with torch.no_grad():\n            print(1)\n        print(2)\n        return x\n"),
           "12 skipped-builtin, 13 skipped-builtin");
    expect("import contextlib\n" FORWARD("        with contextlib.suppress(ValueError):\n            print(1)\n        "
                                         "print(2)\n        return x\n"),
           "13 skipped-builtin, 14 skipped-builtin?");
    expect(
        FORWARD("        for i in range(2):\n            self.show(i)\n        print(2)\n        return x\n\n    def "
                "show(self, i):\n        print(i)\n        print(-i)\n"),
        "13 skipped-builtin?, 17 skipped-builtin, 18 skipped-builtin");
    expect(FORWARD("        while x.sum() > 0:\n            x = x - 1\n        print(2)\n        return x\n"),
           "11 tensor-condition, 13 skipped-builtin");
}

/* Where a number is needed, a tensor that the graph computes is none; a graph's input may be one. */
static void test_sizes(void **state) {
    (void)state;
    expect(FORWARD("        n = x.long().sum()\n        return x.new_zeros(n), torch.ones((2, n)), [0] * n\n"),
           "12 math-of-tensor, 12 math-of-tensor?, 12 math-of-tensor?");
    expect(FORWARD("        y = x[:x.argmax()]\n        print(1)\n        return y\n"),
           "11 scalar-from-tensor, 12 skipped-builtin?");
    expect(FORWARD("        return torch.zeros(x.long().sum()), x.view(x.argmax() + 1, -1), x[x.argmax()]\n"),
           "11 math-of-tensor, 11 math-of-tensor, 11 math-of-tensor");
    expect(FORWARD("        return torch.arange(x), x[x[0] > 0] if False else x[:, x.argmax(-1)]\n"), "");
    expect(FORWARD("        n = x.long().sum()\n        print(1)\n        return torch.arange(n)\n"),
           "12 skipped-builtin, 13 math-of-tensor?");
    expect(FORWARD("        n = torch.div(x.shape[0], 2, rounding_mode='trunc') + torch.tensor(3)\n        return "
                   "torch.arange(n), x[n]\n"),
           "");
    expect(FORWARD("        for h, w in x:\n            y = torch.zeros(h, w)\n        return y\n"),
           "12 math-of-tensor");
    expect("import numpy as np\n" FORWARD("        return x * np.sqrt(x.shape[0]).item() + int(np.prod(x.shape))\n"),
           "12 numpy");
    expect("import numpy as np\n" FORWARD("        return x * float(np.array([1.0, 2.0]).sum())\n"), "12 numpy");
    expect("import numpy as np\n" FORWARD("        return x * float(np.array([1.0]).sum()) * np.array(2.0).item()\n"),
           "12 numpy?, 12 numpy?");
}

/* What is written where arguments are left out, and what is not. */
static void test_likely_messages(void **state) {
    (void)state;
#define LOGGED(body)                                                                       \
    "import logging\nfrom other import Cache, Base\nlog = logging.getLogger(__name__)\n\n" \
    "class Net(Base):\n    def forward(self, x, cache=None, kept: bool = False):\n" body "        return x\n"
    expect(LOGGED("        if cache is not None:\n            log.info('kept')\n"), "");
    expect(LOGGED("        if cache is not None and x.shape[0] > 1:\n            log.info('kept')\n"), "");
    expect(LOGGED("        if kept or isinstance(cache, Cache):\n            log.info('kept')\n"), "");
    expect(LOGGED("        if self.config.kept and not isinstance(cache, Cache):\n            log.info('new')\n"),
           "8 logging?");
    expect(LOGGED("        if cache is not None:\n            pass\n        else:\n            log.info('new')\n"),
           "10 logging?");
    expect(LOGGED("        cache = cache if cache is not None else self.made\n        if cache:\n            "
                  "log.info('new')\n"),
           "9 logging?");
#undef LOGGED
}

/* Functions that nothing in the file calls: other files may, from compiled code. */
static void test_uncalled_functions(void **state) {
    (void)state;
    expect("import torch\n\ndef f(x: torch.Tensor):\n    print(1)\n    return x.item()\n",
           "4 skipped-builtin?, 5 scalar-from-tensor?");
    expect("import torch\n\ndef f(x):\n    print(1)\n    return torch.max(x).item()\n", "5 scalar-from-tensor?");
    expect("import torch\n\ndef f(x):\n    print(1)\n    return x.item_of(2) if x > 1 else 0\n", "");
    expect("def f(x):\n    return x.sum().item()\n", "");
    expect("import torch, warnings\n\ndef f(x: torch.Tensor, old=None):\n    if old is not None:\n        "
           "warnings.warn('old')\n    return x\n",
           "5 warning?");
    expect(
        "import torch\nfrom functools import wraps\n\ndef f(forward):\n    @wraps(forward)\n    def inner(self, x):\n "
        "       if x.mean() > 0:\n            return x\n        return forward(self, x)\n    return inner\n",
        "7 tensor-condition?");
    expect("import torch\n\nclass Mixin:\n    def mask(self, m: torch.Tensor):\n        return m if m.any() else "
           "None\n\n  "
           "  def shown(self):\n        print(1)\n",
           "5 tensor-condition?");
}

static void test_hooks_exceptions_and_identity(void **state) {
    (void)state;
    expect(
        "import torch.nn as nn\n\nclass Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        "
        "self.l = nn.Linear(4, 4)\n        self.l.register_forward_hook(lambda m, i, o: print(o))\n\n    def "
        "forward(self, x):\n        return self.l(x)\n",
        "7 skipped-builtin");
    expect(FORWARD("        raise ValueError('bad')\n"), "11 raise");
    expect(FORWARD("        raise NotImplementedError\n"), "");
    expect(FORWARD("        if self.training:\n            raise ValueError('bad')\n        return x\n"), "");
    expect(
        FORWARD(
            "        try:\n            import fast\n            return fast.f(x)\n        except ImportError:\n       "
            "     return x\n"),
        "12 missing-import?");
    expect(FORWARD("        y = x * 2\n        return y if id(y) == id(x) or y.data_ptr() == x.data_ptr() else x\n"),
           "12 identity, 12 identity?");
}

/* No graph breaks, and worth a word. */
static void test_beyond_breaks(void **state) {
    (void)state;
    expect(
        "import numpy as np\n" FORWARD("        return x + torch.from_numpy(np.random.rand(4)) + np.random.rand()\n"),
        "12 numpy-random?, 12 numpy");
    expect("import torch\nfrom torch import compile\n\ndef f(x):\n    return x\n\ntorch.compile(f)\nfast = "
           "torch.compile(f)\nmake = torch.compile(dynamic=True)\n\ndef main():\n    compile(f)\n    g = "
           "torch.compile(f)\n    h = "
           "compile(f)\n    return h\n",
           "7 unused-compile?, 12 unused-compile?, 13 unused-compile?");
    expect(
        FORWARD("        size = x.shape[:2]\n        torch.Tensor(x.size()), torch.cuda.LongTensor(size)\n"
                "        torch.Tensor(*size), torch.Tensor(size=size), torch.FloatTensor([1, 2]), torch.empty(size)\n"
                "        return torch.Tensor((2, 3)), x.new(size), torch.Tensor(2, 3)\n"),
        "12 size-as-data?, 12 size-as-data?");
    expect("import re\n\nre.compile('a')\n", "");
    expect("import torch\n\ndef main(f):\n    for _ in range(2):\n        if _:\n            g(1)\n        g = "
           "torch.compile(f)\n",
           "");
}

/* Half of a program, nonsense, deep nests and many calls end soon, and say nothing wrong. */
static void test_odd_programs(void **state) {
    (void)state;
    gg_buf deep;
    gg_buf_init(&deep, 1 << 20);
    assert_int_equal(gg_buf_printf(&deep, "import torch\n@torch.compile\ndef f(x):\n    return "), 0);
    for (int i = 0; i < 3000; i++) assert_int_equal(gg_buf_append(&deep, GG_STR("-")), 0);
    assert_int_equal(gg_buf_append(&deep, GG_STR("x\n")), 0);
    expect(deep.ptr, "");
    gg_buf_clear(&deep);
    gg_buf_init(&deep, 1 << 20);
    for (int i = 0; i < 60; i++)
        assert_int_equal(gg_buf_printf(&deep, "def f%d(x):\n    return f%d(x) + f%d(x)\n", i, i + 1, i + 1), 0);
    assert_int_equal(gg_buf_printf(&deep, "import torch\n@torch.compile\ndef g(x):\n    return f0(x)\n"), 0);
    expect(deep.ptr, "");
    gg_buf_clear(&deep);
    gg_buf_init(&deep, 1 << 20);
    assert_int_equal(gg_buf_printf(&deep, "import torch\n@torch.compile\ndef f(x, n=None):\n    if n is None"), 0);
    for (int i = 0; i < 30000; i++) assert_int_equal(gg_buf_append(&deep, GG_STR(" and n is None")), 0);
    assert_int_equal(gg_buf_append(&deep, GG_STR(":\n        x = x + 1\n    return x\n")), 0);
    expect(deep.ptr, "");
    gg_buf_clear(&deep);
    expect("class A(A):\n    pass\n\nclass B(C):\n    pass\n\nclass C(B):\n    def forward(self, x):\n        return "
           "self.y.z(x)\n",
           "");
    expect("", "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_conditions),
        cmocka_unit_test(test_asserts),
        cmocka_unit_test(test_scalars),
        cmocka_unit_test(test_messages),
        cmocka_unit_test(test_guards),
        cmocka_unit_test(test_calls),
        cmocka_unit_test(test_parameters),
        cmocka_unit_test(test_inputs),
        cmocka_unit_test(test_families),
        cmocka_unit_test(test_words_of_guards),
        cmocka_unit_test(test_attributes),
        cmocka_unit_test(test_annotations),
        cmocka_unit_test(test_odd_programs),
        cmocka_unit_test(test_functions_left_to_python),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_likely_messages),
        cmocka_unit_test(test_uncalled_functions),
        cmocka_unit_test(test_hooks_exceptions_and_identity),
        cmocka_unit_test(test_beyond_breaks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
