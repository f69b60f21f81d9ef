"""No break: nothing to capture, exceptions that Dynamo swallows, and recompilation, which is something else."""
import inspect

import torch
from torch import nn


def shapes(x):
    return x.shape


def caught(x):
    try:
        return x * {}["a"]
    except KeyError:
        return x + 1


def double(x, n):
    return x * n


def parameters(x):
    return x + len(inspect.signature(double).parameters)


class Twice(nn.Module):
    def __init__(self):
        super().__init__()
        self.part = nn.Linear(3, 3)

    def forward(self, x):
        return x + sum(p.sum() for p in self.parameters())


def graphglue_inputs():
    yield "shapes", shapes, (torch.ones(3),), {}  # nothing_to_capture, 0 graphs
    yield "caught", caught, (torch.ones(3),), {}  # captured, 1 graph
    yield "parameters", parameters, (torch.ones(3),), {}  # captured, 1 graph
    yield "Twice", Twice(), (torch.ones(3),), {}  # captured, 1 graph
