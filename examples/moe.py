"""A mixture-of-experts transformer for short sequences, written the way such models are written before anyone compiles them.

Each token is sent to its best two experts out of four.  Routing is checked, logged and rescaled on the way, which costs
torch.compile a graph break at every such line:

    graphglue-lsp check examples/moe.py
    graphglue-lsp fix --diff --max-safety effects examples/moe.py
"""

import logging
import warnings
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

logger = logging.getLogger(__name__)


@dataclass
class MoEConfig:
    vocab_size: int = 128
    width: int = 32
    hidden: int = 64
    heads: int = 4
    layers: int = 2
    experts: int = 4
    top_k: int = 2
    max_logit: float = 6.0


class Router(nn.Module):
    """Scores every expert for every token and keeps the best ones."""

    def __init__(self, config: MoEConfig):
        super().__init__()
        self.gate = nn.Linear(config.width, config.experts, bias=False)
        self.top_k = config.top_k
        self.max_logit = config.max_logit

    def forward(self, tokens: Tensor, padding: Tensor) -> tuple[Tensor, Tensor]:
        logits = self.gate(tokens)
        # One huge logit would starve every other expert, so the scores are capped softly, but only when they have to be.
        limit = self.max_logit
        if logits.abs().amax() > limit:
            logits = limit * torch.tanh(logits / limit)

        scores = F.softmax(logits, dim=-1)
        assert torch.isfinite(scores).all() and (scores >= 0).all(), "the router produced invalid scores"

        weights, chosen = scores.topk(self.top_k, dim=-1)
        weights = weights / weights.sum(dim=-1, keepdim=True)
        weights[padding] = 0.0
        return weights, chosen


class Expert(nn.Module):
    def __init__(self, config: MoEConfig):
        super().__init__()
        self.up = nn.Linear(config.width, config.hidden)
        self.down = nn.Linear(config.hidden, config.width)

    def forward(self, x: Tensor) -> Tensor:
        return self.down(F.gelu(self.up(x)))


class MoELayer(nn.Module):
    """Sends tokens through their experts and balances what comes back."""

    def __init__(self, config: MoEConfig):
        super().__init__()
        self.router = Router(config)
        self.experts = nn.ModuleList(Expert(config) for _ in range(config.experts))
        self.register_buffer("tokens_seen", torch.zeros(config.experts))

    def forward(self, x: Tensor, padding: Tensor) -> Tensor:
        weights, chosen = self.router(x, padding)
        out = torch.zeros_like(x)
        for index, expert in enumerate(self.experts):
            share = (weights * (chosen == index)).sum(dim=-1, keepdim=True)
            out = out + share * expert(x)

        load = F.one_hot(chosen, len(self.experts)).float().mean(dim=(0, 1, 2))
        logger.info("expert load: %s", load)
        self.tokens_seen += load

        # A layer that uses its experts unevenly is trusted less.
        evenness = (load.min() / load.max()).clamp(min=0.5).item()
        return out * evenness


class Attention(nn.Module):
    def __init__(self, config: MoEConfig):
        super().__init__()
        self.heads = config.heads
        self.qkv = nn.Linear(config.width, 3 * config.width)
        self.out = nn.Linear(config.width, config.width)

    def forward(self, x: Tensor, padding: Tensor) -> Tensor:
        q, k, v = (t.unflatten(-1, (self.heads, -1)).transpose(1, 2) for t in self.qkv(x).chunk(3, dim=-1))
        attended = F.scaled_dot_product_attention(q, k, v, attn_mask=~padding[:, None, None, :])
        return self.out(attended.transpose(1, 2).flatten(2))


class Block(nn.Module):
    def __init__(self, config: MoEConfig):
        super().__init__()
        self.norm_attention = nn.LayerNorm(config.width)
        self.norm_experts = nn.LayerNorm(config.width)
        self.attention = Attention(config)
        self.experts = MoELayer(config)

    def forward(self, x: Tensor, padding: Tensor) -> Tensor:
        x = x + self.attention(self.norm_attention(x), padding)
        update = self.experts(self.norm_experts(x), padding)
        # Early exit: an update this small is noise.
        if update.abs().amax() < 1e-4:
            return x
        return x + update


class MoETransformer(nn.Module):
    def __init__(self, config: MoEConfig):
        super().__init__()
        self.embed = nn.Embedding(config.vocab_size, config.width, padding_idx=0)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.layers))
        self.norm = nn.LayerNorm(config.width)
        self.head = nn.Linear(config.width, config.vocab_size, bias=False)

    def forward(self, ids: Tensor) -> Tensor:
        padding = ids == 0
        if padding.any():
            warnings.warn("the batch is padded: padded positions are computed and thrown away", stacklevel=2)

        x = self.embed(ids)
        for block in self.blocks:
            x = block(x, padding)
        x = x.masked_fill(padding.unsqueeze(-1), 0.0)
        return self.head(self.norm(x))


def graphglue_inputs():
    ids = torch.randint(1, 128, (2, 12))
    ids[1, 9:] = 0
    yield "moe", MoETransformer(MoEConfig()).eval(), (ids,), {}
