"""Statements that are no expressions."""
import torch


def imported(x):
    x = x + 1
    import json
    n = len(json.dumps({"a": 1}))
#           ^^^^^^^^^^^^^^^^^^^^ GB0156 split in imported
    return x * n


def raised(x):
    x = x + 1
    try:
        if x.sum() > 0:
#          ^^^^^^^^^^^ GB0170 skip in raised
            raise ValueError("positive")
    except ValueError:
        x = x * 2
    return x


def evaluated(x):
    x = x + 1
    y = eval("x * 2", {"x": x})
#       ^^^^^^^^^^^^^^^^^^^^^^^ GB0059 split in evaluated
    return y + 1


def graphglue_inputs():
    yield "imported", imported, (torch.ones(3),), {}  # breaks, 2 graphs
    yield "raised", raised, (torch.ones(3),), {}  # breaks, 0 graphs
    yield "evaluated", evaluated, (torch.ones(3),), {}  # breaks, 2 graphs
