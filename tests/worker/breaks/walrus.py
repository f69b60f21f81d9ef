"""Assignment expressions."""
import torch


def value(x):
    x = x + 1
    if (n := x.sum().item()) > 0:
#            ^^^^^^^^^^^^^^ GB0124 split in value
        x = x * n
    return x


def condition(x):
    x = x + 1
    if (s := x.sum()) > 0:
#      ^^^^^^^^^^^^^^^^^^ GB0170 split in condition
        x = x * s
    return x


def alone(x):
    x = x + 1
    if big := x.sum() > 0:
#      ^^^^^^^^^^^^^^^^^^ GB0170 split in alone
        x = x * big
    return x


def graphglue_inputs():
    yield "value", value, (torch.ones(3),), {}  # breaks, 2 graphs
    yield "condition", condition, (torch.ones(3),), {}  # breaks, 2 graphs
    yield "alone", alone, (torch.ones(3),), {}  # breaks, 2 graphs
