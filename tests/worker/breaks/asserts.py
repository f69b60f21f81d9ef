"""Assertions that Dynamo cannot rewrite."""
import torch


def compound(x):
    x = x + 1
    assert (x > 0).all() and (x < 9).all(), "out of range"
#          ^^^^^^^^^^^^^ GB0170 split in compound
    return x * 2


def equal(x):
    x = x + 1
    assert torch.equal(x, x + 0)
#          ^^^^^^^^^^^^^^^^^^^^^ GB0033 split in equal
    return x * 2


def message(x):
    x = x + 1
    assert x.sum() > 0, f"sum is {x.sum()}"
#          ^^^^^^^^^^^ GB0170 split in message
    return x * 2


def graphglue_inputs():
    yield "compound", compound, (torch.ones(3),), {}  # breaks, 2 graphs
    yield "equal", equal, (torch.ones(3),), {}  # breaks, 2 graphs
    yield "message", message, (torch.ones(3),), {}  # breaks, 2 graphs
