"""functools.partial and functools.reduce."""
import functools

import torch


def scaled(by, x):
    if x.sum() > by:
#      ^^^^^^^^^^^^ GB0170 split x2 in scaled [through_partial]
        return x * by
    return x


twice = functools.partial(scaled, 2)


def through_partial(x):
    return twice(x + 1) - 1


def biggest(a, b):
    return max(a, b.item())
#                 ^^^^^^^^ GB0124 split x2 in biggest [reduced]


def reduced(x):
    x = x + 1
    return x * functools.reduce(biggest, x.unbind(), 0.0)


def graphglue_inputs():
    yield "through_partial", through_partial, (torch.ones(3),), {}  # breaks, 4 graphs
    yield "reduced", reduced, (torch.ones(3),), {}  # breaks, 3 graphs
