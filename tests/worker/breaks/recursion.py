"""A function that calls itself: one site, met in each depth."""
import torch


def shrink(x, depth):
    if depth == 0:
        return x
    if x.sum() > 4:
#      ^^^^^^^^^^^ GB0170 split x3 in shrink
        x = x / 2
    return shrink(x, depth - 1)


def f(x):
    return shrink(x * 3, 2)


def graphglue_inputs():
    yield "f", f, (torch.ones(3),), {}  # breaks, 5 graphs
