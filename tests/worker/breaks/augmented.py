"""Augmented assignment and assignment to subscripts and attributes."""
import torch
from torch import nn


def right_side(x):
    x = x + 1
    x += x.sum().item()
#        ^^^^^^^^^^^^^^ GB0124 split in right_side
    return x


def masked(x):
    x = x + 1
    x[x > 0] *= 2
#   ^^^^^^^^ GB0036 split in masked
    return x


def key(x):
    x = x + 1
    table = {}
    table[x.sum().item()] = 1
#         ^^^^^^^^^^^^^^ GB0124 split in key
    return x * len(table)


def attribute(x):
    x = x + 1
    x.requires_grad = True
#   ^^^^^^^^^^^^^^^ GB0206 split in attribute
    return x * 2


class Net(nn.Module):
    def forward(self, x):
        x = x + 1
        self.weight = nn.Parameter(torch.ones(3))
#                     ^^^^^^^^^^^^^^^^^^^^^^^^^^^ GB0264 split in Net.forward
        return x * self.weight


def graphglue_inputs():
    yield "right_side", right_side, (torch.ones(3),), {}  # breaks, 2 graphs
    yield "masked", masked, (torch.ones(3),), {}  # breaks, 2 graphs
    yield "key", key, (torch.ones(3),), {}  # breaks, 2 graphs
    yield "attribute", attribute, (torch.ones(3),), {}  # breaks, 2 graphs
    yield "Net", Net(), (torch.ones(3),), {}  # breaks, 2 graphs
