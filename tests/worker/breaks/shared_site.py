"""Two entries that hit the same line, and one that does not."""
import torch


def check(x):
    if x.sum() > 0:
#      ^^^^^^^^^^^ GB0170 split x2 in check [first second]
        return x + 1
    return x


def first(x):
    return check(x * 2)


def second(x):
    return check(x * 3)


def third(x):
    return x + 1


def graphglue_inputs():
    yield "first", first, (torch.ones(3),), {}  # breaks, 3 graphs
    yield "second", second, (torch.ones(3),), {}  # breaks, 3 graphs
    yield "third", third, (torch.ones(3),), {}  # captured, 1 graph
