"""Classes made while the program runs: by `type`, by a function, and inside the traced function itself."""
import torch
from torch import nn


def forward(self, x):
    return x * x.sum().item()
#              ^^^^^^^^^^^^^^ GB0124 split in forward [made_by_type]


def make(flag):
    class Made(nn.Module):
        def forward(self, x):
            if x.sum() > 0 and flag:
#              ^^^^^^^^^^^ GB0170 split in make.<locals>.Made.forward [made_by_function]
                return x + 1
            return x

    return Made()


def inside(x):
    x = x + 1

    class Box:
#         ^^^ GB8977 split in inside [inside]
        width = 2

    return x * Box.width


def graphglue_inputs():
    yield "made_by_type", type("Dyn", (nn.Module,), {"forward": forward})(), (torch.ones(3),), {}  # breaks, 2 graphs
    yield "made_by_function", make(True), (torch.ones(3),), {}  # breaks, 2 graphs
    yield "inside", inside, (torch.ones(3),), {}  # breaks, 2 graphs
