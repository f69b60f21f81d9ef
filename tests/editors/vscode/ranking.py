"""Orders what it is given, by way of a Python list: no rule mends that."""

import torch
from torch import nn


class Ranking(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = x * 2
        ordered = torch.tensor(sorted(h.tolist()), dtype=h.dtype)
        return ordered + 1


def graphglue_inputs():
    yield "Ranking", Ranking(), (torch.randint(0, 50, (8,)),), {}
