"""Several breaks one after the other: each lies in a resume function of Dynamo's, and is told in the user's function."""
import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x):
        x = x + 1
        print("one")
#       ^^^^^^^^^^^^ GB0059 split in Net.forward via Net.forward
        x = x * 2
        n = x.max().item()
#           ^^^^^^^^^^^^^^ GB0124 split in Net.forward via Net.forward
        x = x * n
        if x.mean() > 3:
#          ^^^^^^^^^^^^ GB0170 split in Net.forward via Net.forward
            x = x - 1
        return x.relu()


def graphglue_inputs():
    yield "Net", Net(), (torch.ones(4),), {}  # breaks, 4 graphs
