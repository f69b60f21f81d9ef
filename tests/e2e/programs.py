"""The programs that the end-to-end tests open: small, each with one thing to show."""

INPUTS = """

def graphglue_inputs():
    torch.manual_seed(0)
    yield "scale", scale, (torch.randn(4),), {}
"""

HEAD = "import torch\n\n\n"

# One break: a branch on a tensor's value, mended exactly by torch.where.
BRANCH = (
    HEAD
    + """def scale(x):
    h = x * 2
    if h.sum() > 0:
        h = h + 1
    else:
        h = h - 1
    return h
"""
    + INPUTS
)
CONDITION = "h.sum() > 0"

# One break: a message, mended with effects (it is not shown while compiling).
PRINT = (
    HEAD
    + """def scale(x):
    h = x * 2
    print("mean", h.mean())
    return h + 1
"""
    + INPUTS
)

CLEAN = HEAD + "def scale(x):\n    return x * 2 + 1\n" + INPUTS

# What the break was called with first says that both arms are alike; the second call shows that they are not, and there torch.where would
# stretch the smaller one.  The rule cannot know; the verification does.
WRONG = (
    HEAD
    + """def larger(a, b):
    if a.sum() > b.sum():
        return a * 2
    return b * 2


def scale(x):
    whole = larger(x, x + 1)
    first = larger(x[:1], x)
    return whole.sum() + first.numel()
"""
    + INPUTS
)

# A model that a person may have half-typed.
HALF_TYPED = HEAD + "def scale(x:\n    if x.sum() > (\n        return [1, \n"


def entry(body: str) -> str:
    """A file whose one entry runs these lines."""
    lines = "".join(f"    {line}\n" for line in body.strip("\n").split("\n"))
    return f"import os\nimport sys\nimport time\n\nimport torch\n\n\ndef scale(x):\n{lines}{INPUTS}"


RAISES = entry('raise ValueError("no such layer: café")')
CRASHES = entry("h = x * 2\nos.kill(os.getpid(), 11)\nreturn h")
EXITS = entry("os._exit(3)")
HANGS = entry("while True:\n    time.sleep(60)")
PRINTS = entry(
    'print("to stdout")\nprint("to stderr", file=sys.stderr)\nos.write(1, b"Content-Length: 5\\r\\n\\r\\nhello")\nreturn x + 1'
)
FLOODS = entry('for _ in range(2000):\n    os.write(1, b"x" * 65536)\n    os.write(2, b"y" * 65536)\nreturn x + 1')
IMPORT_FAILS = "import torch\n\nraise RuntimeError('not on this machine')\n" + INPUTS
INPUTS_RAISE = "import torch\n\n\ndef scale(x):\n    return x\n\n\ndef graphglue_inputs():\n    raise KeyError('weights')\n    yield\n"
