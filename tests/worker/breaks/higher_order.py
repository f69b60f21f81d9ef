"""Breaks inside functions that are handed to vmap, cond and grad."""
import torch


def one(t):
    print("one row")
#   ^^^^^^^^^^^^^^^^ GB0059 split +GB0149 x2 in one [mapped]
    return t * 2


def mapped(x):
    x = x + 1
    return torch.vmap(one)(x)


def loss(t):
    if t.sum() > 0:
#      ^^^^^^^^^^^ GB0170 split +GB0149 x2 in loss [gradient]
        return (t * t).sum()
    return t.sum()


def gradient(x):
    x = x + 1
    return torch.func.grad(loss)(x)


def backward(x):
    y = (x * 2).sum()
    y.backward()
#   ^^^^^^^^^^^^ GB0123 split in backward
    return x + 1


def graphglue_inputs():
    yield "mapped", mapped, (torch.ones(2, 3),), {}  # breaks, 1 graph
    yield "gradient", gradient, (torch.ones(3),), {}  # breaks, 1 graph
    yield "backward", backward, (torch.ones(3, requires_grad=True),), {}  # breaks, 2 graphs
