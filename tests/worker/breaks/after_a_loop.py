"""A break after a loop that is unrolled splits the graph as any other."""
import torch


def f(x):
    for i in range(3):
        x = x + i
    n = x.sum().item()
#       ^^^^^^^^^^^^^^ GB0124 split in f
    return x * n


def graphglue_inputs():
    yield "f", f, (torch.ones(4),), {}  # breaks, 2 graphs
