"""Values that cannot be unpacked."""
import torch
from torch import nn


class Sizes(nn.Module):
    def forward(self, x):
        x = x + 1
        rows, cols = torch.where(x > 0)
#                    ^^^^^^^^^^^^^^^^^^ GB0036 split in Sizes.forward
        return x[rows, cols]


def loop_target(x):
    x = x + 1
    for a, b in enumerate(x.tolist()):
#                         ^^^^^^^^^^ GB0109 split in loop_target
        x = x + a * b
    return x


def deleted(x):
    x = x + 1
    table = {"a": 1}
    del table[str(x.sum().item())[:0] + "a"]
#                 ^^^^^^^^^^^^^^ GB0124 split in deleted
    return x * len(table) + 1


def swapped(x):
    x = x + 1
    a, b = x.sum().item(), x.max()
#          ^^^^^^^^^^^^^^ GB0124 split in swapped
    return b * a


def graphglue_inputs():
    yield "Sizes", Sizes(), (torch.ones(2, 2),), {}  # breaks, 2 graphs
    yield "loop_target", loop_target, (torch.ones(2),), {}  # breaks, 2 graphs
    yield "deleted", deleted, (torch.ones(2),), {}  # breaks, 2 graphs
    yield "swapped", swapped, (torch.ones(2),), {}  # breaks, 2 graphs
