"""One line three calls deep costs a graph in each of its callers, and is still one site."""
import torch
from torch import nn


def decide(h):
    if h.sum() > 0:
#      ^^^^^^^^^^^ GB0170 split x3 in decide via decide < Part.forward < Net.forward
        return h + 1
    return h - 1


class Part(nn.Module):
    def forward(self, h):
        h = decide(h * 2)
        return h * 3


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.part = Part()

    def forward(self, x):
        x = self.part(x + 1)
        return x.relu()


def graphglue_inputs():
    yield "Net", Net(), (torch.ones(4),), {}  # breaks, 6 graphs
