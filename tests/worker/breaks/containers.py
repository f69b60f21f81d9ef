"""A loop over a ModuleList, and a Sequential, one of whose modules breaks."""
import torch
from torch import nn


class Gate(nn.Module):
    def forward(self, x):
        if x.mean() > 0:
#          ^^^^^^^^^^^^ GB0170 skip loop +GB7000 x2 in Gate.forward [Listed]
            return x
        return -x


class Noisy(nn.Module):
    def forward(self, x):
        print("noisy")
#       ^^^^^^^^^^^^^^ GB0059 split x2 in Noisy.forward [chained]
        return x + 1


class Listed(nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = nn.ModuleList([nn.Linear(3, 3), Gate(), nn.ReLU()])

    def forward(self, x):
        for part in self.parts:
            x = part(x)
        return x


def graphglue_inputs():
    yield "Listed", Listed(), (torch.ones(3),), {}  # breaks, 2 graphs
    yield "chained", nn.Sequential(nn.Linear(3, 3), Noisy(), nn.ReLU()), (torch.ones(3),), {}  # breaks, 1 graph
