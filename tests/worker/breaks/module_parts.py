"""Modules in modules: Sequential and ModuleDict below a module, a module called by keyword, a parameter changed in place."""
import torch
from torch import nn


class Clip(nn.Module):
    def forward(self, x, *, limit=2.0):
        if x.abs().max() > limit:
#          ^^^^^^^^^^^^^^^^^^^^^ GB0170 split x2 in Clip.forward [body by_name]
            x = x.clamp(-limit, limit)
        return x


class Body(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 3), Clip())

    def forward(self, x):
        return self.body(x) + 1


class ByName(nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = nn.ModuleDict({"clip": Clip()})

    def forward(self, x):
        x = x * 3
        return self.parts["clip"](x, limit=1.0) + 1


class Counting(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("steps", torch.zeros(()))

    def forward(self, x):
        self.steps += 1
        if self.steps > 3:
#          ^^^^^^^^^^^^^^ GB0170 split in Counting.forward
            x = x * 2
        return x + 1


def graphglue_inputs():
    yield "body", Body(), (torch.ones(3),), {}  # breaks, 2 graphs
    yield "by_name", ByName(), (torch.ones(3),), {}  # breaks, 4 graphs
    yield "Counting", Counting(), (torch.ones(3),), {}  # breaks, 2 graphs
