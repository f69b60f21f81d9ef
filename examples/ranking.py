"""Scores that are ranked in plain Python: no rule of ours rewrites that, a language model may (docs/model.md).

graphglue-lsp fix --llm examples/ranking.py
"""

import torch
from torch import nn


class Ranker(nn.Module):
    def __init__(self, items: int = 32, dim: int = 16):
        super().__init__()
        self.items = nn.Embedding(items, dim)
        self.bonus = nn.Parameter(torch.ones(4))

    def forward(self, query: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
        scores = self.items(ids) @ query
        # the best four, in the order of their ids
        best = sorted(sorted(range(len(ids)), key=lambda i: ids[i].item())[:4])
        return scores[torch.tensor(best)] * self.bonus


def graphglue_inputs():
    yield "ranker", Ranker(), (torch.randn(16), torch.randperm(32)[:8]), {}
