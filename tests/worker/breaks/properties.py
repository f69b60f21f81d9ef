"""Breaks in a property and in __getattr__ / __call__ / __getitem__ / operators of the user's classes."""
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("weight", torch.ones(3))

    @property
    def scale(self):
        return self.weight.sum().item()
#              ^^^^^^^^^^^^^^^^^^^^^^^^ GB0124 skip x2 in Net.scale

    def forward(self, x):
        x = x + 1
        return x * self.scale


class Table:
    def __init__(self, rows):
        self.rows = rows

    def __getitem__(self, i):
        return self.rows[int(i)]
#                        ^^^^^^ GB0124 split x2 in Table.__getitem__ [item]

    def __call__(self, x):
        print("called")
#       ^^^^^^^^^^^^^^^ GB0059 split x2 in Table.__call__ [call]
        return x + 1

    def __add__(self, other):
        return other * other.max().item()
#                      ^^^^^^^^^^^^^^^^^^ GB0124 split in Table.__add__ [operator]


def item(x):
    table = Table([1, 2, 3])
    x = x * 2
    return x * table[x.argmax()]


def call(x):
    table = Table([])
    return table(x * 2) - 1


def operator(x):
    return (Table([]) + x * 2) - 1
#           ^^^^^^^^^^^^^^^^^ GB0055 skip in operator


def graphglue_inputs():
    yield "Net", Net(), (torch.ones(3),), {}  # breaks, 1 graph
    yield "item", item, (torch.ones(3),), {}  # breaks, 2 graphs
    yield "call", call, (torch.ones(3),), {}  # breaks, 3 graphs
    yield "operator", operator, (torch.ones(3),), {}  # breaks, 2 graphs
