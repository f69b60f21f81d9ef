"""A break inside a generator expression and inside a generator function."""
import torch


def expression(x):
    x = x * 2
    return x + sum(t.item() for t in x.unbind())
#                  ^^^^^^^^ GB0124 skip +GB8335 in expression


def parts(x):
    for t in x.unbind():
        yield t.sum().item()
#             ^^^^^^^^^^^^^^ GB0124 skip loop +GB8335 in parts [function]


def function(x):
    x = x * 2
    return x + sum(parts(x))


def graphglue_inputs():
    yield "expression", expression, (torch.ones(3),), {}  # breaks, 0 graphs
    yield "function", function, (torch.ones(3),), {}  # breaks, 0 graphs
