"""The condition of a while loop is a tensor."""
import torch


def grow(x):
    while x.sum() < 10:
#         ^^^^^^^^^^^^ GB0170 split loop x2 in grow
        x = x * 2
    return x


def graphglue_inputs():
    yield "grow", grow, (torch.ones(4),), {}  # breaks, 2 graphs
