"""Indices and slices that depend on data."""
import torch


def mask(x):
    x = x + 1
    return x[x > 0] * 2
#          ^^^^^^^^ GB0036 split in mask


def slice_end(x):
    x = x + 1
    return x[: x.argmax()] * 2
#          ^^^^^^^^^^^^^^^ GB0124 skip in slice_end


def list_index(x):
    rows = [1, 2, 3]
    i = x.argmax()
    return x * rows[i]
#              ^^^^^^^ GB0124 split in list_index


def where(x):
    x = x + 1
    i, = torch.where(x > 0)
#        ^^^^^^^^^^^^^^^^^^ GB0036 split in where
    return x[i] * 2


def graphglue_inputs():
    yield "mask", mask, (torch.ones(3),), {}  # breaks, 2 graphs
    yield "slice_end", slice_end, (torch.ones(3),), {}  # breaks, 0 graphs
    yield "list_index", list_index, (torch.ones(3),), {}  # breaks, 2 graphs
    yield "where", where, (torch.ones(3),), {}  # breaks, 2 graphs
