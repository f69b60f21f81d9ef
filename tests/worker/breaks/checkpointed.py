"""torch.utils.checkpoint of a function that breaks."""
import torch
from torch.utils.checkpoint import checkpoint


def block(x):
    x = x * 2
    print("in the block")
#   ^^^^^^^^^^^^^^^^^^^^^ GB0059 split in block
    return x + 1


def f(x):
    x = x + 1
    return checkpoint(block, x, use_reentrant=False)


def graphglue_inputs():
    yield "f", f, (torch.ones(3, requires_grad=True),), {}  # breaks, 1 graph
