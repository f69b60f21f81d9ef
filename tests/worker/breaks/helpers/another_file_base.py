"""A module of the workspace beside the file that is captured."""
import torch
from torch import nn


class Base(nn.Module):
    def forward(self, x):
        x = self.before(x)
        if torch.any(x < 0):
#          ^^^^^^^^^^^^^^^^ GB0170 split x2 in Base.forward
            x = x.abs()
        return x

    def before(self, x):
        return x
