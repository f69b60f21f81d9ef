"""What the zygote compiles before its first job: code as models are written, so that jobs find Dynamo's caches, handlers and imports warm.

Nothing of it is an answer to anybody's code: what Dynamo finds out about a function goes with the function.  It is what Dynamo builds once per
process, on first use: tables of handlers, rules for functions of torch, signatures, lazily imported modules.
"""

import math
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn


@dataclass
class Config:
    """Settings as models have them."""

    width: int = 16
    heads: int = 2
    layers: int = 2
    words: int = 8
    dropout: float = 0.1


class Attention(nn.Module):
    """Once with torch's function and once by hand."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.heads, self.size = config.heads, config.width // config.heads
        self.qkv = nn.Linear(config.width, 3 * config.width, bias=False)
        self.out = nn.Linear(config.width, config.width)
        self.dropout = nn.Dropout(config.dropout)
        self.register_buffer("scale", torch.tensor(1.0), persistent=False)

    def forward(self, x: torch.Tensor, mask: torch.Tensor | None = None) -> tuple[torch.Tensor, torch.Tensor]:
        batch, length, width = x.shape
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        q, k, v = (t.view(batch, length, self.heads, self.size).transpose(1, 2) for t in (q, k, v))
        scores = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(self.size)
        if mask is not None:
            scores = scores.masked_fill(mask[:, None, None, :] == 0, float("-inf"))
        weights = self.dropout(F.softmax(scores, dim=-1))
        attended = (weights @ v + F.scaled_dot_product_attention(q, k, v, is_causal=True)) * self.scale
        attended = attended.permute(0, 2, 1, 3).contiguous().reshape(batch, length, -1)
        return self.out(attended), weights


class Block(nn.Module):
    """A transformer layer."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(config.width), nn.LayerNorm(config.width)
        self.attention = Attention(config)
        self.mlp = nn.Sequential(nn.Linear(config.width, 32), nn.GELU(), nn.Linear(32, config.width), nn.Dropout(0.1))
        self.gate = nn.Parameter(torch.ones(config.width))

    def forward(self, x: torch.Tensor, mask: torch.Tensor | None = None, **options: Any) -> tuple[torch.Tensor, ...]:
        attended, weights = self.attention(self.norm1(x), mask=mask)
        x = x + 0.5 * attended
        x = x + self.gate * self.mlp(self.norm2(x)) / 2 - F.relu(x)
        return (x, weights) if options.get("weights") else (x,)


class Net(nn.Module):
    """Layers, styles and breaks that are common."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config = config
        self.embed, self.places = nn.Embedding(config.words, config.width), nn.Embedding(32, config.width)
        self.layers = nn.ModuleList(Block(config) for _ in range(config.layers))
        self.attention = nn.MultiheadAttention(config.width, config.heads, batch_first=True)
        self.conv, self.conv2 = nn.Conv1d(config.width, config.width, 1), nn.Conv2d(1, 2, 3, padding=1)
        self.batch, self.pool = nn.BatchNorm2d(2), nn.MaxPool2d(2)
        self.heads = nn.ModuleDict({"a": nn.Linear(config.width, 4), "b": nn.Linear(config.width, 4)})
        self.norm = nn.LayerNorm(config.width)

    def forward(self, ids: torch.Tensor, mask: torch.Tensor | None = None) -> dict[str, Any]:
        length = ids.size(1)
        x = self.embed(ids) + self.places(torch.arange(length, device=ids.device)).unsqueeze(0)
        kept: list[torch.Tensor] = []
        for i, layer in enumerate(self.layers):
            x, weights = layer(x, mask, weights=True)
            if i % 2 == 0 and not self.training:
                kept.append(weights.mean(dim=1))
        x = x + self.attention(x, x, x, need_weights=False)[0]
        x = self.conv(x.transpose(1, 2)).transpose(1, 2)
        image = self.pool(F.silu(self.batch(self.conv2(x[:, None]))))
        x = self.norm(x) + torch.cat([x[..., :8], torch.zeros_like(x[..., 8:])], dim=-1).to(x.dtype)
        if x.abs().amax() > 1e9:
            x = x / 2
        picked = torch.where(x > 0, x, x.clamp(min=-1.0)).sum(dim=(1, 2))
        if picked.mean().item() > 1e9:
            x = x * 2
        print(end="")
        found = OrderedDict((name, head(x[:, -1])) for name, head in self.heads.items())
        return {**found, "logits": x, "weights": torch.stack(kept), "image": image.flatten(1), "length": length}


def call() -> tuple[nn.Module, tuple[Any, ...]]:
    """A model and its arguments, small, made anew."""
    return Net(Config()).eval(), (torch.arange(8).reshape(1, 8), torch.ones(1, 8))


class Small(nn.Module):
    """What nearly every model has: a layer, and an operation on its result."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(2, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.layer(x)
        if x.abs().amax() > 1e9:
            x = x / 2
        return x * 2


def first_call() -> tuple[nn.Module, tuple[Any, ...]]:
    """As `call`, of a module that takes a fraction of the time."""
    return Small().eval(), (torch.ones(2, 2),)
