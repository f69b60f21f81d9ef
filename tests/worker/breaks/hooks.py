"""Forward hooks that break."""
import torch
from torch import nn


def report(module, args, output):
    print(type(module).__name__)
#   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^ GB0059 split x2 in report [Net]


def scale(module, args):
    return (args[0] * args[0].max().item(),)
#                     ^^^^^^^^^^^^^^^^^^^^ GB0124 split x2 in scale [pre]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)
        self.linear.register_forward_hook(report)

    def forward(self, x):
        return self.linear(x * 2) + 1


def hooked():
    layer = nn.Linear(3, 3)
    layer.register_forward_pre_hook(scale)
    return layer


def graphglue_inputs():
    yield "Net", Net(), (torch.ones(3),), {}  # breaks, 3 graphs
    yield "pre", hooked(), (torch.ones(3),), {}  # breaks, 3 graphs
