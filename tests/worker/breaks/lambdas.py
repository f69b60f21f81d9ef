"""A break in the body of a lambda."""
import torch

scale = lambda t: t * t.max().item()
#                     ^^^^^^^^^^^^^^ GB0124 split x2 in <lambda> [named]


def named(x):
    return scale(x + 1) - 1


def passed(x):
    x = x + 1
    pieces = list(map(lambda t: int(t.sum()), x.unbind()))
#                               ^^^^^^^^^^^^ GB0124 split x2 in passed.<locals>.<lambda>
    return x * pieces[0]


def graphglue_inputs():
    yield "named", named, (torch.ones(3),), {}  # breaks, 4 graphs
    yield "passed", passed, (torch.ones(3),), {}  # breaks, 3 graphs
