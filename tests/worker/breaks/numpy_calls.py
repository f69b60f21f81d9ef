"""numpy."""
import numpy as np
import torch


def scalar(x):
    x = x + 1
    n = np.prod(x.numpy())
    return x * int(n)
#              ^^^^^^ GB0033 split in scalar


def unsupported(x):
    x = x + 1
    y = np.interp(x.numpy(), [0, 1], [0, 1])
#       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ GB0294 split in unsupported
    return x * torch.from_numpy(y)


def graphglue_inputs():
    yield "scalar", scalar, (torch.ones(3),), {}  # breaks, 2 graphs
    yield "unsupported", unsupported, (torch.ones(3),), {}  # breaks, 2 graphs
