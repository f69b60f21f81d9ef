"""nn.LSTM: the whole function runs without Dynamo."""
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(3, 3)
        self.out = nn.Linear(3, 3)

    def forward(self, x):
        x = x + 1
        y, _ = self.rnn(x)
#              ^^^^^^^^^^^ GB0014 skip in Net.forward
        return self.out(y)


def graphglue_inputs():
    yield "Net", Net(), (torch.ones(2, 1, 3),), {}  # breaks, 0 graphs
