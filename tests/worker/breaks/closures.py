"""Breaks in nested functions that close over others' variables."""
import torch


def outer(x):
    seen = 0

    def inner(t):
        nonlocal seen
        seen += 1
        return t * t.sum().item()
#                  ^^^^^^^^^^^^^^ GB0124 split x2 in outer.<locals>.inner

    x = inner(x + 1)
    return x + seen


def maker(bound):
    def limited(x):
        if (x > bound).any():
#          ^^^^^^^^^^^^^^^^^ GB0170 split in maker.<locals>.limited
            x = x.clamp(max=bound)
        return x

    return limited


def graphglue_inputs():
    yield "outer", outer, (torch.ones(3),), {}  # breaks, 4 graphs
    yield "made", maker(0), (torch.ones(3),), {}  # breaks, 2 graphs
