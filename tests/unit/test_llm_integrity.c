/* links: gg_repair */
/* Each cheat is refused by its name, and code that only looks like one passes. */
#include <dirent.h>

#include "llm_fixture.h"

static const char program[] = "import math\n"
                              "import os\n"
                              "import time\n"
                              "import torch\n"
                              "import torch.nn as nn\n"
                              "import torch.nn.functional as F\n"
                              "from helpers import scale\n\n"
                              "CACHE = {}\n\n\n"
                              "def helper(x):\n"
                              "    return x\n\n\n"
                              "class Net(nn.Module):\n"
                              "    limit = 3\n\n"
                              "    def __init__(self, width=4, *, bias=True):\n"
                              "        super().__init__()\n"
                              "        self.fc = nn.Linear(width, 4, bias=bias)\n"
                              "        self.norm = nn.LayerNorm(4)\n"
                              "        self.register_buffer('steps', torch.zeros(()))\n"
                              "        self.seen = []\n"
                              "        self.width = width\n\n"
                              "    def reset(self):\n"
                              "        self.count = 0\n\n"
                              "    def mask(self, x):\n"
                              "        return torch.ones(x.shape[1], x.shape[1])\n\n"
                              "    def forward(self, x: torch.Tensor, scale_by=2.0, input=None, time=None):\n"
                              "        h = self.norm(self.fc(x))\n"
                              "        if os.environ.get('LOUD'):\n"
                              "            print(h.max().item())\n"
                              "        try:\n"
                              "            h = scale(h)\n"
                              "        except Exception:\n"
                              "            pass\n"
                              "        if h.sum() > 0:\n"
                              "            h = h * scale_by\n"
                              "        return h\n\n\n"
                              "TESTCASES = [(torch.ones(2, 4),)]\n";

typedef struct change {
    const char *old, *fresh; /* the first `old` in the program becomes `fresh` */
    const char *cheat;       /* NULL: it passes */
} change;

#define BODY                   "        if h.sum() > 0:\n            h = h * scale_by\n"
#define IN_PLACE_OF_BODY(code) BODY, "        " code "\n"

static const change cheats[] = {
    /* outside the class */
    {"    return x\n\n\nclass", "    return x + 1\n\n\nclass", "outside"},
    {"CACHE = {}", "CACHE = {1: 2}", "outside"},
    {"TESTCASES = [(torch.ones(2, 4),)]\n", "", "outside"},
    {"        return h\n\n\nTEST", "        return h\n\n\nnn.Linear.forward = helper\nTEST", "outside"},
    {"from helpers import scale\n", "", "outside"},
    {"class Net(", "class Other(", "deletes"},
    /* imports */
    {"import math\n", "import math\nimport numpy\n", "imports"},
    {"import math\n", "import math\nfrom torch.nn import *\n", "imports"},
    {"import math\n", "import math\nimport subprocess\n", "uses-system"},
    {"import math\n", "import math\nfrom torch.nn.functional import relu as helper\n", "rebinds"},
    {"from helpers import scale\n", "from helpers import scale\nfrom torch import sin as scale\n", "rebinds"},
    {"import math\n", "import math\nfrom torch._dynamo import disable\n", "turns-off-compiler"},
    {IN_PLACE_OF_BODY("import socket"), "uses-system"},
    /* the compiler and its settings */
    {"    def forward", "    @torch.compiler.disable\n    def forward", "turns-off-compiler"},
    {"    def forward", "    @torch._dynamo.disable()\n    def forward", "turns-off-compiler"},
    {IN_PLACE_OF_BODY("torch._dynamo.config.suppress_errors = True"), "turns-off-compiler"},
    {IN_PLACE_OF_BODY("h = torch.compiler.assume_constant_result(helper)(h)"), "turns-off-compiler"},
    {IN_PLACE_OF_BODY("if torch.compiler.is_compiling():\n            return h"), "turns-off-compiler"},
    {IN_PLACE_OF_BODY("if torch.jit.is_tracing():\n            return h"), "turns-off-compiler"},
    {IN_PLACE_OF_BODY("torch.compiler.allow_in_graph(helper)"), "turns-off-compiler"},
    {IN_PLACE_OF_BODY("torch._dynamo.graph_break()"), "turns-off-compiler"},
    {IN_PLACE_OF_BODY("h = torch.library.custom_op('a::b', helper, mutates_args=())(h)"), "turns-off-compiler"},
    {IN_PLACE_OF_BODY("h = torch._dynamo.leaf_function(helper)(h)"), "turns-off-compiler"},
    {IN_PLACE_OF_BODY("t = torch\n        t.compiler.set_stance('force_eager')"), "turns-off-compiler"},
    {IN_PLACE_OF_BODY("c = getattr(torch, '_dynamo')"), "runs-text"},
    {IN_PLACE_OF_BODY("h = torch.ops.mine.op(h)"), "turns-off-compiler"},
    {IN_PLACE_OF_BODY("torch.set_default_dtype(torch.float64)"), "changes-settings"},
    {IN_PLACE_OF_BODY("torch.backends.cudnn.enabled = False"), "changes-settings"},
    {IN_PLACE_OF_BODY("torch.manual_seed(0)"), "changes-settings"},
    /* text that runs */
    {IN_PLACE_OF_BODY("h = eval('h * 2')"), "runs-text"},
    {IN_PLACE_OF_BODY("exec('h = 1')"), "runs-text"},
    {IN_PLACE_OF_BODY("h = compile('h', 'f', 'eval')"), "runs-text"},
    {IN_PLACE_OF_BODY("h = __import__('os').getpid()"), "runs-text"},
    {IN_PLACE_OF_BODY("h = getattr(self, 'f' + 'c')(h)"), "runs-text"},
    {IN_PLACE_OF_BODY("h = getattr(self, f'{time}')(h)"), "runs-text"},
    {IN_PLACE_OF_BODY("h = type('T', (), {})()"), "runs-text"},
    /* the system */
    {IN_PLACE_OF_BODY("os.system('true')"), "uses-system"},
    {IN_PLACE_OF_BODY("open('/tmp/x', 'w')"), "uses-system"},
    {IN_PLACE_OF_BODY("torch.os.getpid()"), "uses-system"},
    {IN_PLACE_OF_BODY("torch.save(h, 'x')"), "uses-system"},
    {IN_PLACE_OF_BODY("h = torch.load(__file__)"), "uses-system"},
    {IN_PLACE_OF_BODY("h = h + len(__file__)"), "uses-system"},
    {IN_PLACE_OF_BODY("h = math.sys._getframe(1).f_locals['x']"), "uses-system"},
    {IN_PLACE_OF_BODY("h = helper.__globals__['CACHE']"), "uses-system"},
    {IN_PLACE_OF_BODY("self.__class__ = nn.Module"), "uses-system"},
    {IN_PLACE_OF_BODY("h = (lambda: 0).__code__"), "uses-system"},
    /* handlers */
    {BODY, "        try:\n            h = h.item()\n        except:\n            pass\n", "catches-everything"},
    {BODY, "        try:\n            h = h.item()\n        except BaseException as e:\n            pass\n",
     "catches-everything"},
    {BODY, "        try:\n            h = h.item()\n        except (ValueError, Exception):\n            pass\n",
     "catches-everything"},
    {BODY "        return h", "        try:\n            h = h.item()\n        finally:\n            return h",
     "catches-everything"},
    {"            h = scale(h)\n",
     "            h = scale(h)\n            a = h\n            b = a\n            c = b\n            h = c.item()\n",
     "catches-everything"},
    /* other objects, and what stays */
    {IN_PLACE_OF_BODY("nn.Linear.forward = helper"), "patches"},
    {IN_PLACE_OF_BODY("torch.Tensor.item = helper"), "patches"},
    {IN_PLACE_OF_BODY("self.fc.weight = None"), "patches"},
    {IN_PLACE_OF_BODY("x.data = h"), "patches"},
    {IN_PLACE_OF_BODY("setattr(self, 'a', h)"), "patches"},
    {IN_PLACE_OF_BODY("globals()['a'] = h"), "patches"},
    {IN_PLACE_OF_BODY("vars(self)['a'] = h"), "patches"},
    {IN_PLACE_OF_BODY("self.last = h"), "remembers"},
    {IN_PLACE_OF_BODY("self.seen.append(h)"), "remembers"},
    {IN_PLACE_OF_BODY("self.steps.add_(1)"), "remembers"},
    {IN_PLACE_OF_BODY("self.seen[0:] = [h]"), "remembers"},
    {IN_PLACE_OF_BODY("CACHE[1] = h"), "remembers"},
    {IN_PLACE_OF_BODY("CACHE.setdefault(1, h)"), "remembers"},
    {IN_PLACE_OF_BODY("global SEEN"), "remembers"},
    {"    limit = 3\n", "    limit = 3\n    memory = {}\n", "remembers"},
    {"    def reset(self)", "    def _again(self, x, memo={}):\n        return x\n\n    def reset(self)", "remembers"},
    {"    def reset(self)",
     "    @property\n    @staticmethod\n    @helper\n    def _q(self):\n        return 1\n\n    def reset(self)",
     "hooks"},
    {"    def reset(self)", "    def __call__(self, x):\n        return x\n\n    def reset(self)", "hooks"},
    {"    def reset(self)", "    def __torch_function__(self, x):\n        return x\n\n    def reset(self)", "hooks"},
    {IN_PLACE_OF_BODY("self.fc.register_forward_hook(helper)"), "hooks"},
    /* what others count on */
    {"scale_by=2.0, ", "", "signature"},
    {"scale_by=2.0", "scale_by=3.0", "signature"},
    {"width=4, *, bias", "width=4, bias", "signature"},
    {"def forward(self, x: torch.Tensor", "def forward(self, y: torch.Tensor", "signature"},
    {"    def reset(self):\n        self.count = 0\n\n", "", "deletes"},
    {"class Net(nn.Module)", "class Net(nn.Identity)", "bases"},
    {"        self.norm = nn.LayerNorm(4)\n", "", "layers"},
    {"nn.LayerNorm(4)", "nn.LayerNorm(4, elementwise_affine=False)", "layers"},
    {"        self.norm = ", "        self.norm2 = ", "layers"},
    {"        self.seen = []\n", "        self.seen = []\n        self.more = nn.Linear(4, 4)\n", "layers"},
    {"        self.seen = []\n", "        self.seen = []\n        self.w = nn.Parameter(torch.ones(4))\n", "layers"},
    {"'steps', torch", "'others', torch", "layers"},
    {"        self.register_buffer('steps', torch.zeros(()))\n", "", "layers"},
    {"self.norm(self.fc(x))", "self.fc(x)", "drops-layer"},
    {"    def reset(self)",
     "    def forward(self, x: torch.Tensor, scale_by=2.0, input=None, time=None):\n        return x\n\n    def "
     "reset(self)",
     "twice"},
    {"        self.seen = []\n", "        self.seen = []\n        self.forward = lambda x: x\n", "patches"},
    {"        self.seen = []\n", "        self.seen = []\n        self.reset = None\n", "patches"},
    {"        self.seen = []\n",
     "        self.seen = []\n        kept = []\n\n        def f(x):\n            kept.append(x)\n\n        self.f = "
     "f\n",
     "remembers"},
    {IN_PLACE_OF_BODY("self.fc.__init__(4, 4)"), "patches"},
    {IN_PLACE_OF_BODY("type(self).limit = 4"), "patches"},
    {IN_PLACE_OF_BODY("h = [].__class__.__base__.__subclasses__()"), "uses-system"},
    {"    limit = 3\n\n", "", "deletes"},
    {IN_PLACE_OF_BODY("[torch][0].compiler.disable(helper)"), "turns-off-compiler"},
    {IN_PLACE_OF_BODY("a, b = torch, 1"), "uses-system"},
    {IN_PLACE_OF_BODY("m = (lambda: torch)()"), "uses-system"},
    {IN_PLACE_OF_BODY("h = helper(torch)"), "uses-system"},
    {IN_PLACE_OF_BODY("h = \xef\xbd\x85val('h')"), "runs-text"}, /* a wide e: Python reads eval */
    {IN_PLACE_OF_BODY("__class__.limit = 4"), "uses-system"},
    {IN_PLACE_OF_BODY("nn.modules.module._global_forward_hooks.clear()"), "turns-off-compiler"},
    /* ways around names */
    {IN_PLACE_OF_BODY("[torch.nn.functional][0].torch.os.getpid()"), "uses-system"},
    {IN_PLACE_OF_BODY("(lambda m: m.os)(torch.nn)"), "uses-system"},
    {IN_PLACE_OF_BODY("for m in (torch.nn.functional,):\n            m.torch.os.getpid()"), "uses-system"},
    {IN_PLACE_OF_BODY("torch.utils._pytree.sys.exit()"), "uses-system"},
    {IN_PLACE_OF_BODY("torch.utils._pytree.importlib.import_module('os')"), "uses-system"},
    {IN_PLACE_OF_BODY("from torch._higher_order_ops.while_loop import torch as tt\n        tt.os.getpid()"),
     "uses-system"},
    {IN_PLACE_OF_BODY("F.torch.set_grad_enabled(False)"), "changes-settings"},
    {IN_PLACE_OF_BODY("torch.autograd.grad_mode.set_grad_enabled(False)"), "changes-settings"},
    {IN_PLACE_OF_BODY("def g(s, exec=exec):\n            exec(s)\n\n        g('1')"), "runs-text"},
    {IN_PLACE_OF_BODY("[eval('1') for eval in [eval]]"), "runs-text"},
    {IN_PLACE_OF_BODY("g = lambda s, eval=eval: eval(s)"), "runs-text"},
    {IN_PLACE_OF_BODY("match x:\n            case object(__class__=c):\n                h = c"), "uses-system"},
    {IN_PLACE_OF_BODY("match torch:\n            case object(os=c):\n                c.getpid()"), "uses-system"},
    {IN_PLACE_OF_BODY(
         "match torch.nn.functional:\n            case object(torch=object(os=c)):\n                c.getpid()"),
     "uses-system"},
    {IN_PLACE_OF_BODY("h = f\"\\{eval('1')}\""), "runs-text"},
    {IN_PLACE_OF_BODY("h = fr\"\\{eval('1')}\""), "runs-text"},
    {IN_PLACE_OF_BODY("h = f'''\n{{{eval('1')}}}'''"), "runs-text"},
    {IN_PLACE_OF_BODY("torch.serialization.load('x')"), "uses-system"},
    {IN_PLACE_OF_BODY("torch.UntypedStorage.from_file('x')"), "uses-system"},
    {IN_PLACE_OF_BODY("h.register_post_accumulate_grad_hook(helper)"), "hooks"},
    {IN_PLACE_OF_BODY("self._register_state_dict_hook(helper)"), "hooks"},
    {"    def reset(self)", "    def state_dict(self, *a, **k):\n        return {}\n\n    def reset(self)", "hooks"},
    {"    def reset(self)", "    def _call_impl(self, x):\n        return x\n\n    def reset(self)", "hooks"},
    {"    def reset(self)", "    def named_parameters(self, *a):\n        return iter(())\n\n    def reset(self)",
     "hooks"},
    {"    def reset(self)", "    def train(self, mode=True):\n        return self\n\n    def reset(self)", "hooks"},
    {IN_PLACE_OF_BODY("h = getattr(torch.nn.functional, 'torch')"), "runs-text"},
    {IN_PLACE_OF_BODY("h = getattr(torch.nn, 'os')"), "runs-text"},
    {IN_PLACE_OF_BODY("with torch.nn.functional as m:\n            m.torch.os.getpid()"), "uses-system"},
    {IN_PLACE_OF_BODY("m = h and torch.nn.functional\n        m.torch.os.getpid()"), "uses-system"},
    {IN_PLACE_OF_BODY("m = m2 = torch.nn.functional\n        m.torch.os.getpid()"), "uses-system"},
    {IN_PLACE_OF_BODY("@eval\n        def g():\n            pass"), "runs-text"},
    {IN_PLACE_OF_BODY("def g(eval: eval('1')):\n            pass"), "runs-text"},
    {IN_PLACE_OF_BODY("import torch.nn.functional as os\n        os.torch.sys.exit()"), "rebinds"},
    {IN_PLACE_OF_BODY("E = Exception\n        try:\n            h = h.item()\n        except E:\n            pass"),
     "catches-everything"},
    {IN_PLACE_OF_BODY("try:\n            h = h.item()\n        except (*(Exception,),):\n            pass"),
     "catches-everything"},
    {IN_PLACE_OF_BODY("try:\n            h = h.item()\n        except (Exception):\n            pass"),
     "catches-everything"},
    {IN_PLACE_OF_BODY("try:\n            h = h.item()\n        except [Exception][0]:\n            pass"),
     "catches-everything"},
    {IN_PLACE_OF_BODY("def f(eval):\n            pass\n\n        h = eval('h * 2')"), "runs-text"},
    {IN_PLACE_OF_BODY("import os\n        os.system('true')"), "uses-system"},
    {IN_PLACE_OF_BODY("match 1:\n            case exec.y:\n                pass\n        exec('1')"), "runs-text"},
    {IN_PLACE_OF_BODY("class C:\n            exec = 1\n\n        exec('1')"), "runs-text"},
    {IN_PLACE_OF_BODY("g = [exec for exec in []]\n        exec('1')"), "runs-text"},
    {IN_PLACE_OF_BODY("def f(CACHE):\n            pass\n\n        CACHE[1] = h"), "remembers"},
    {IN_PLACE_OF_BODY("h = helper(**{'a': torch.nn.functional})"), "uses-system"},
    {IN_PLACE_OF_BODY("h = print(x, file=torch.nn.functional)"), "uses-system"},
    {IN_PLACE_OF_BODY("import torch.utils._pytree as pytree\n        pytree.sys.exit()"), "uses-system"},
    {IN_PLACE_OF_BODY("return h\n\n    def _x(self, a=torch.nn.functional):\n        h = a.torch.os"), "uses-system"},
    {IN_PLACE_OF_BODY("def g(a=torch.nn.functional):\n            return a.torch.os.getpid()\n"), "uses-system"},
    {IN_PLACE_OF_BODY("h = torch.nn.functional.torch.sin(h)"), "uses-system"},
    {IN_PLACE_OF_BODY("h = torch.utils._pytree.tree_map(torch.utils._pytree.functools.lru_cache(helper), h)"),
     "remembers"},
    {IN_PLACE_OF_BODY("t = torch.relu\n        t = torch\n        t.manual_seed(0)"), "rebinds"},
    {IN_PLACE_OF_BODY("h = torch.utils._pytree.GetAttrKey('a' + 'b').get(h)"), "runs-text"},
    /* results out of nothing */
    {"        return h\n", "        return torch.zeros(2, 4)\n", "constant"},
    {"        return h\n", "        return torch.zeros_like(h)\n", "constant"},
    {"        return h\n", "        return h * 0 + 3.0\n", "constant"},
    {"        return h\n", "        return torch.full(h.shape, 3.0)\n", "constant"},
    {"        return h\n", "        y = torch.zeros(h.shape)\n        return y + (h - h)\n", "constant"},
    {"        return h\n", "        if scale_by:\n            return 7.0\n        return h\n", "constant"},
    {"        return h\n", "        return torch.full_like(h, 3.0)\n", "constant"},
    {"        return h\n", "        return h.clone().fill_(3.0)\n", "constant"},
    {"        return h\n", "        return torch.mul(h, 0)\n", "constant"},
    {"        return h\n",
     "        h = h + torch.tensor([[1.5, 2.5, 3.5, 4.5], [1.0, 2.0, 3.0, 4.0]])\n        return h\n", "literals"},
    {IN_PLACE_OF_BODY("if x.shape == (2, 4):\n            h = h + 1"), "reads-tests"},
    {IN_PLACE_OF_BODY("if tuple(x.shape) == (2, 4):\n            h = h + 1"), "reads-tests"},
    {IN_PLACE_OF_BODY("h = h + TESTCASES[0][0]"), "reads-tests"},
    {IN_PLACE_OF_BODY("h = h + get_inputs()[0]"), "reads-tests"},
    {IN_PLACE_OF_BODY("h = h + graphglue_inputs()[0]"), "reads-tests"},
    /* time */
    {IN_PLACE_OF_BODY("while True:\n            h = h + 1"), "endless"},
    {IN_PLACE_OF_BODY("while scale_by > 0:\n            h = h + 1"), "endless"},
    {IN_PLACE_OF_BODY("for i in range(10 ** 9):\n            h = h + 1"), "endless"},
    {IN_PLACE_OF_BODY("for i in range(100_000_000):\n            h = h + 1"), "endless"},
    {IN_PLACE_OF_BODY("h = self.forward(h)"), "endless"},
    {IN_PLACE_OF_BODY("h = self(h)"), "endless"},
    {IN_PLACE_OF_BODY("for i in iter(int, 1):\n            h = h + 1"), "endless"},
    {IN_PLACE_OF_BODY("torch.cuda._sleep(1000)"), "sleeps"},
};

static const change harmless[] = {
    {IN_PLACE_OF_BODY("h = torch.utils._pytree.tree_map(torch.relu, h)"), NULL},
    {IN_PLACE_OF_BODY("for f in (torch.sin, F.relu):\n            h = f(h)"), NULL},
    {IN_PLACE_OF_BODY("s = '\xc3\xa9'  # \xc3\xa9"), NULL},
    {"        return h\n", "        return h.type(torch.float64)\n", NULL},
    {IN_PLACE_OF_BODY("h = torch.where(h.sum() > 0, h * scale_by, h)"), NULL},
    {IN_PLACE_OF_BODY("h = h * math.pi"), NULL},
    {"import math\n", "import math\nfrom typing import Optional\n", NULL},
    {"import math\n", "import math\nfrom torch import Tensor\n", NULL},
    {"        if os.environ.get('LOUD'):\n            print(h.max().item())\n", "", NULL},
    {"        try:\n            h = scale(h)\n        except Exception:\n            pass\n", "        h = scale(h)\n",
     NULL},
    {IN_PLACE_OF_BODY("try:\n            h = helper(h)\n        except ValueError:\n            pass"), NULL},
    {IN_PLACE_OF_BODY("try:\n            h = helper(h)\n        finally:\n            h = h + 1"), NULL},
    {IN_PLACE_OF_BODY("h = h if input is None else h + input"), NULL}, /* an argument that has a builtin's name … */
    {IN_PLACE_OF_BODY("h = h if time is None else h + time"), NULL},   /* … or a module's */
    {IN_PLACE_OF_BODY("h = h + time.mean()"), NULL},
    {IN_PLACE_OF_BODY("open_ = h\n        h = open_"), NULL},
    {IN_PLACE_OF_BODY("h = getattr(self, 'fc')(h)"), NULL},
    {IN_PLACE_OF_BODY("h = F.relu_(h)"), NULL},
    {IN_PLACE_OF_BODY("h.mul_(2)"), NULL},
    {IN_PLACE_OF_BODY("self.norm.eval()"), NULL},
    {IN_PLACE_OF_BODY("h = re.compile('x')"), NULL},
    {IN_PLACE_OF_BODY("parts = []\n        parts.append(h)\n        h = torch.cat(parts)"), NULL},
    {IN_PLACE_OF_BODY("out = torch.empty(2, 4)\n        out[0] = h[0]\n        h = out"), NULL},
    {IN_PLACE_OF_BODY("for i in range(4):\n            h = h + i"), NULL},
    {IN_PLACE_OF_BODY("n = 0\n        while n < 4:\n            n += 1"), NULL},
    {IN_PLACE_OF_BODY("while True:\n            h = h + 1\n            if scale_by:\n                break"), NULL},
    {IN_PLACE_OF_BODY("if x.shape[-1] == 4:\n            h = h + 1"), NULL},
    {IN_PLACE_OF_BODY("h = h + torch.tensor([1.0, 2.0, 3.0, 4.0])"), NULL},
    {IN_PLACE_OF_BODY("torch._check(h.shape[0] > 0)"), NULL},
    {IN_PLACE_OF_BODY("h = torch.cond(h.sum() > 0, lambda t: t * 2, lambda t: t.clone(), (h,))"), NULL},
    {IN_PLACE_OF_BODY("t = torch\n        h = t.sin(h)"), NULL},
    {IN_PLACE_OF_BODY("assert h.ndim == 2, '__file__ and eval() in words'"), NULL},
    {IN_PLACE_OF_BODY("# torch.compiler.disable, os.system('x')\n        h = h + 1"), NULL},
    {"        self.seen = []\n", "        self.seen = []\n        self.scale_t = torch.tensor(2.0)\n", NULL},
    {"    def reset(self)", "    def _scaled(self, h, by):\n        return h * by\n\n    def reset(self)", NULL},
    {"    def reset(self)", "    @staticmethod\n    def _scaled(h, by):\n        return h * by\n\n    def reset(self)",
     NULL},
    {"        self.count = 0\n", "        self.count = torch.tensor(0)\n", NULL}, /* it kept that before */
    {"    limit = 3\n", "    limit = 3\n    other = 4.0\n", NULL},
    {"torch.ones(x.shape[1], x.shape[1])", "torch.ones(x.shape[1], x.shape[1]).tril()", NULL},
    {"        return h\n", "        return {'h': h, 'n': 3}\n", NULL},
    {IN_PLACE_OF_BODY(
         "outs = []\n\n        def f(t):\n            outs.append(t)\n\n        f(h)\n        h = outs[0]"),
     NULL},
    {"            h = scale(h)\n", "            h = scale(h)\n            h = h + 1\n", NULL},
    {"        return h\n", "        return torch.full_like(x, h.sum())\n", NULL},
    {"        return h\n", "        return torch.empty(2).fill_(h.sum())\n", NULL},
    {"        return h\n", "        f = lambda: h\n        return f()\n", NULL},
    {"        return h\n", "        def f():\n            return h\n\n        return f()\n", NULL},
    {"        return h\n", "        return torch.stack([a for a in h])\n", NULL},
    {"        return h\n", "        a, (b, c) = h[0], (h[1], h)\n        return c\n", NULL},
    {IN_PLACE_OF_BODY("def eval(a):\n            pass\n        eval('x')"), NULL},
    {IN_PLACE_OF_BODY("h = (torch.nn.functional).relu(h)"), NULL},
    {IN_PLACE_OF_BODY("from torch.utils import _pytree as pytree\n        h = pytree.tree_map(torch.relu, h)"), NULL},
    {IN_PLACE_OF_BODY(
         "dtype = torch.float16\n        if scale_by:\n            dtype = torch.float32\n        h = h.to(dtype)"),
     NULL},
    {IN_PLACE_OF_BODY("def g(eval):\n            return eval\n\n        h = g(h)"), NULL},
    {IN_PLACE_OF_BODY("try:\n            h = helper(h)\n        except (ValueError):\n            pass"), NULL},
    {IN_PLACE_OF_BODY("h = sum([time for time in h])"), NULL},
    {IN_PLACE_OF_BODY("h = sum([y for input in h for y in input])"), NULL},
    {IN_PLACE_OF_BODY("with torch.no_grad() as open:\n            h = open"), NULL},
    {IN_PLACE_OF_BODY("f = lambda input: input + 1\n        h = f(h)"), NULL},
    {IN_PLACE_OF_BODY("for open in h:\n            h = h + open"), NULL},
    {IN_PLACE_OF_BODY("if (compile := h.sum()) is not None:\n            h = h + compile"), NULL},
    {"    def reset(self)", "    def train_step(self, h):\n        return h\n\n    def reset(self)", NULL},
    {IN_PLACE_OF_BODY("class Part(nn.Module):\n            def forward(self, x):\n                return x"), NULL},
};

static gg_cheat look(const change *c, gg_arena *arena) {
    gg_str source = gg_str_from(program), old = gg_str_from(c->old);
    size_t at = gg_str_find(source, old, 0);
    if (at == SIZE_MAX) fail_msg("no such code: %s", c->old);
    if (gg_str_is(old, "        return h\n")) at = gg_str_find(source, GG_STR("        return h\n\n\nTEST"), 0);
    gg_str edited = gg_arena_printf(arena, "%.*s%s%s", (int)at, program, c->fresh, program + at + old.len);
    gg_text *before = NULL, *after = NULL;
    gg_tree *a = NULL, *b = NULL;
    assert_int_equal(gg_text_new(&before, source, NULL), 0);
    assert_int_equal(gg_text_new(&after, edited, NULL), 0);
    assert_int_equal(gg_tree_parse(&a, before, NULL, NULL, 0, NULL, NULL), 0);
    assert_int_equal(gg_tree_parse(&b, after, NULL, NULL, 0, NULL, NULL), 0);
    if (gg_tree_has_error(b)) fail_msg("does not parse: %s", c->fresh);
    gg_span definition, site = {(uint32_t)gg_str_find(source, GG_STR("h.sum()"), 0), 0};
    site.end = site.start + 7;
    assert_true(gg_llm_definition(a, site, &definition));
    gg_cheat cheat = gg_integrity_check(a, b, definition, arena);
    gg_tree_unref(&a);
    gg_tree_unref(&b);
    gg_text_unref(&before);
    gg_text_unref(&after);
    return cheat;
}

static void check_all(const change *rows, size_t count) {
    size_t wrong = 0;
    for (size_t i = 0; i < count; i++) {
        gg_arena *arena = gg_arena_new();
        gg_cheat cheat = look(&rows[i], arena);
        gg_str name = gg_str_from(cheat.name), expected = gg_str_from(rows[i].cheat);
        if (!gg_str_equal(name, expected)) {
            print_error("%.*s, not %.*s (%.*s): %s -> %s\n", GG_STR_ARG(name), GG_STR_ARG(expected),
                        GG_STR_ARG(cheat.why), rows[i].old, rows[i].fresh);
            wrong++;
        }
        if (cheat.name && cheat.why.len == 0) wrong++;
        gg_arena_free(arena);
    }
    assert_int_equal(wrong, 0);
}

static void test_cheats_are_refused(void **state) {
    (void)state;
    check_all(cheats, GG_COUNT(cheats));
}

static void test_what_only_looks_like_one_passes(void **state) {
    (void)state;
    check_all(harmless, GG_COUNT(harmless));
}

static void test_nothing_changed(void **state) {
    (void)state;
    const change same = {"h = h * scale_by", "h = h * scale_by", NULL};
    check_all(&same, 1);
}

/* ---- what rules do, where they keep inside a definition, is no cheat either ------------------------------------------------------ */

static gg_text *read(const char *folder, const char *name, const char *end) {
    char path[1024];
    gg_text *text = NULL;
    assert_true(snprintf(path, sizeof path, "%s/%s%s", folder, name, end) < (int)sizeof path);
    assert_int_equal(gg_text_read(&text, path, NULL), 0);
    return text;
}

/* What the edit of a fixture is taken for; "" when it lies in no definition. */
static gg_cheat look_at_fixture(const gg_text *before, const gg_text *after, gg_arena *arena) {
    gg_tree *a = NULL, *b = NULL;
    gg_edits edits = {0};
    gg_cheat cheat = {"", GG_STR_NULL};
    gg_edits_between(&edits, before, after);
    assert_int_equal(gg_tree_parse(&a, before, NULL, NULL, 0, NULL, NULL), 0);
    assert_int_equal(gg_tree_parse(&b, after, NULL, NULL, 0, NULL, NULL), 0);
    for (size_t i = 0; i < edits.list.len; i++) {
        gg_span definition, at = edits.list.items[i].span;
        for (gg_str code = gg_text_slice(before, at); code.len && (*code.ptr == ' ' || *code.ptr == '\n'); at.start++)
            code = gg_str_slice(code, 1, code.len);
        at.end = at.start;
        if (!gg_llm_definition(a, at, &definition)) continue;
        cheat = gg_integrity_check(a, b, definition, arena);
        break;
    }
    gg_edits_clear(&edits);
    gg_tree_unref(&a);
    gg_tree_unref(&b);
    return cheat;
}

static void test_rules_do_not_cheat(void **state) {
    (void)state;
    static const char *const known[] = {"turns-off-compiler",
                                        "outside",
                                        "imports",
                                        "bases",
                                        "deletes",
                                        "layers" /* GG108, which takes torch.jit.script from around one */};
    static const char root[] = GG_SOURCE_DIR "/tests/fixtures/repair";
    DIR *folders = opendir(root);
    assert_non_null(folders);
    size_t fine = 0;
    for (struct dirent *rule; (rule = readdir(folders)) != NULL;) {
        char folder[512];
        if (rule->d_name[0] == '.' || snprintf(folder, sizeof folder, "%s/%s", root, rule->d_name) < 0) continue;
        DIR *files = opendir(folder);
        for (struct dirent *file; files && (file = readdir(files)) != NULL;) {
            gg_str name = gg_str_from(file->d_name);
            if (!gg_str_ends_with(name, GG_STR(".expected.py"))) continue;
            char stem[256];
            snprintf(stem, sizeof stem, "%.*s", (int)(name.len - strlen(".expected.py")), name.ptr);
            gg_arena *arena = gg_arena_new();
            gg_text *before = read(folder, stem, ".py"), *after = read(folder, stem, ".expected.py");
            gg_cheat cheat = look_at_fixture(before, after, arena);
            bool expected = cheat.name == NULL || cheat.name[0] == '\0';
            fine += cheat.name == NULL;
            for (size_t i = 0; i < GG_COUNT(known) && !expected; i++) expected = strcmp(cheat.name, known[i]) == 0;
            if (!expected) fail_msg("%s/%s: %s: %.*s", rule->d_name, stem, cheat.name, GG_STR_ARG(cheat.why));
            gg_text_unref(&before);
            gg_text_unref(&after);
            gg_arena_free(arena);
        }
        if (files) closedir(files);
    }
    closedir(folders);
    assert_true(fine >= 300);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cheats_are_refused), cmocka_unit_test(test_what_only_looks_like_one_passes),
        cmocka_unit_test(test_nothing_changed), cmocka_unit_test(test_rules_do_not_cheat)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
