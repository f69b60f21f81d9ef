"""A break inside a for loop: the whole function runs without Dynamo."""
import torch


def total(x):
    s = 0.0
    for i in range(3):
        s = s + (x * i).sum().item()
#               ^^^^^^^^^^^^^^^^^^^^ GB0124 skip loop +GB7000 in total
    return x + s


def graphglue_inputs():
    yield "total", total, (torch.ones(4),), {}  # breaks, 0 graphs
