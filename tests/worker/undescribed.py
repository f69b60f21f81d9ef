"""Programs that give no inputs: each class `Net` can be run, and what it wants shows only in its layers, its names or the errors of its calls."""

HEAD = """import dataclasses
import enum
import os
import time
import typing

import torch
import torch.nn.functional as F
from torch import nn


"""


def layers(*made: str, forward: str, takes: str = "x", arguments: str = "") -> str:
    """A class with these layers a, b, c… and this forward."""
    lines = ["class Net(nn.Module):"]
    if made:
        lines += [f"    def __init__(self{', ' if arguments else ''}{arguments}):", "        super().__init__()"]
        lines += [f"        self.{name} = {layer}" for name, layer in zip("abcdefgh", made, strict=False)]
    lines += ["", f"    def forward(self, {takes}):"]
    return "\n".join([*lines, *(f"        {line}" for line in forward.split("\n"))]) + "\n"


RUN = {
    "defaults": layers("nn.Linear(n, 3)", arguments="n=12", forward="return self.a(x)"),
    "required_sizes": layers(
        "nn.Linear(in_features, hidden_dim)",
        "nn.MultiheadAttention(hidden_dim, num_heads, dropout, batch_first=True)",
        arguments="in_features, hidden_dim, num_heads, dropout",
        forward="h = self.a(x)\nreturn self.b(h, h, h)[0]",
    ),
    "convolution": layers("nn.Conv2d(5, 8, 3)", "nn.BatchNorm2d(8)", forward="return F.relu(self.b(self.a(x)))"),
    "flattened": layers(
        "nn.Conv2d(1, 4, 3)",
        "nn.Linear(4 * 13 * 13, 10)",
        forward="return self.b(F.max_pool2d(self.a(x), 2).flatten(1))",
    ),
    "channels_last": layers("nn.Conv1d(7, 8, 3)", takes="signal", forward="return self.a(signal.transpose(1, 2))"),
    "embedding_by_another_name": layers(
        "nn.Embedding(vocab_size, dim)", arguments="vocab_size: int, dim: int", forward="return self.a(x).mean(1)"
    ),
    "recurrent": layers(
        "nn.Linear(9, 6)",
        "nn.Linear(6, 6)",
        takes="x, state",
        forward="for i in range(3):\n    state = torch.tanh(self.a(x[:, i]) + self.b(state))\nreturn state",
    ),
    "two_widths": layers(
        "nn.Linear(24, 40)",
        "nn.Linear(10, 40)",
        takes="query, context",
        forward="return self.a(query) @ self.b(context).transpose(-1, -2)",
    ),
    "mask": layers(takes="scores, mask", forward="return scores.masked_fill(~mask, -1e9).softmax(-1)"),
    "unpacked_shape": layers(takes="z", forward="b, c, h, w = z.shape\nreturn z.reshape(b, c, h * w)"),
    "tuple_argument": layers(
        takes="x, position_embeddings", forward="cos, sin = position_embeddings\nreturn x * cos.mean() + x * sin.mean()"
    ),
    "optional_that_is_needed": layers(
        takes="input_ids=None, attention_mask=None",
        forward="if attention_mask is None:\n    raise ValueError('attention_mask is needed')\nreturn input_ids * attention_mask",
    ),
    "dataclass_config": "@dataclasses.dataclass\nclass Settings:\n    vocab_size: int = 50304\n    n_layer: int = 12\n    n_embd: int = 768\n\n\n"
    + layers(
        "nn.Embedding(config.vocab_size, config.n_embd)",
        "nn.ModuleList([nn.Linear(config.n_embd, config.n_embd) for _ in range(config.n_layer)])",
        arguments="config",
        takes="idx",
        forward="x = self.a(idx)\nfor b in self.b:\n    x = x + b(x)\nreturn x",
    ),
    "namespace_config": layers(
        "nn.Linear(args.input_dim, args.hidden_dim)",
        "args.dropout",
        arguments="args",
        forward="return F.dropout(self.a(x), self.b, self.training)",
    ),
    "settings_read_late": layers(
        "args", "nn.Linear(args.width, 4)", arguments="args", forward="return self.b(x) * self.a.scale + self.a.eps"
    ),
    "call_in_the_file": layers(
        "nn.Linear(sizes[0], sizes[1])",
        "nn.Linear(sizes[1], thing)",
        arguments="sizes, thing",
        forward="return self.b(self.a(x))",
    )
    + "\n\nSIZE = 6\n\n\ndef main():\n    Net([4, 11], thing=SIZE)\n",
    "loss": layers(takes="logits, target", forward="return F.cross_entropy(logits, target)"),
    "list_of_maps": layers(
        "nn.ModuleList([nn.Conv2d(c, 4, 1) for c in (8, 16)])",
        takes="features: typing.List[torch.Tensor]",
        forward="return [a(f) for a, f in zip(self.a, features)]",
    ),
    "passes_everything_on": "class Inner(nn.Module):\n    def forward(self, tokens):\n        return F.one_hot(tokens, 64).float()\n\n\n"
    + layers("Inner()", takes="*args, **kwargs", forward="return self.a(*args, **kwargs)"),
    "joined_maps": layers(
        "nn.ConvTranspose2d(32, 16, 2, 2)",
        "nn.Conv2d(32, 16, 3)",
        takes="x1, x2",
        forward="return self.b(torch.cat([F.interpolate(self.a(x1), x2.size()[2:]), x2], 1))",
    ),
    "one_token_at_a_time": layers(
        "nn.Embedding(20, 12)",
        "nn.Linear(24, 7)",
        takes="input, hidden, encoder_outputs",
        forward="e = self.a(input).view(1, 1, -1)\nw = self.b(torch.cat((e[0], hidden[0]), 1)).softmax(1)\n"
        "return torch.bmm(w.unsqueeze(0), encoder_outputs.unsqueeze(0))",
    ),
    "dictionary": layers(
        "nn.Linear(10, 2)",
        takes="batch",
        forward="out = self.a(batch['x'])\nif 'skip' in batch:\n    out = out + 1\nreturn out * batch.get('weights').mean()",
    ),
    "object": layers("nn.Linear(6, 2)", takes="data", forward="return self.a(data.x) * data.mask.sum()"),
    "dictionary_of_settings": layers(
        "nn.Linear(hparams['in_dim'], hparams['out_dim'])", arguments="hparams", forward="return self.a(x)"
    ),
    "class_as_argument": layers("nn.Conv2d(planes, planes, 1)", arguments="planes", forward="return self.a(x)").replace(
        "Net", "Block"
    )
    + "\n\n"
    + layers(
        "nn.Sequential(*[block(8) for _ in range(layers[0])])", arguments="block, layers", forward="return self.a(x)"
    )
    + "\n\ndef small():\n    return Net(Block, [2, 2])\n",
    "factory": layers(
        "nn.ModuleList([nn.Linear(i, o) for i, o in zip(widths, widths[1:])])",
        "nn.Linear(widths[-1], 2) if head == 'linear' else None",
        arguments="widths, head",
        forward="for a in self.a:\n    x = a(x)\nreturn self.b(x)",
    )
    + "\n\ndef build(depth, **more):\n    net = Net([4 * (i + 1) for i in range(depth)], **more)\n    net.depth = depth\n    return net\n"
    + "\n\ndef net3(pretrained=False, **more):\n    return build(3, head='linear', **more)\n"
    + "\n\ndef main():\n    open(__file__ + '.ran', 'w').close()\n    build(4)\n",
    "image_size_that_is_not_kept": layers(
        "nn.Conv2d(3, 4, patch_size, patch_size)",
        "nn.Parameter(torch.zeros(4, (image_size // patch_size) ** 2))",
        arguments="image_size=36, patch_size=6",
        forward="return self.a(x).flatten(2) + self.b",
    ),
    "normalized_map": layers("nn.LayerNorm((3, 7))", forward="return self.a(x)"),
    "normalized_groups": layers("nn.GroupNorm(3, 9)", forward="return self.a(x).flatten(1)"),
    "volume": layers("nn.Conv3d(2, 4, 3)", "nn.MaxPool3d(2)", takes="scan", forward="return self.b(self.a(scan))"),
    "reshaped": layers(forward="return x.view(-1, 6, 5).mean(1)"),
    "reshaped_whole": layers(forward="return x.view(4, 7, 9).sum(-1)"),
    "permuted": layers(forward="return x.permute(0, 3, 1, 4, 2).contiguous()"),
    "repeated": layers(forward="return x.repeat(1, 1, 2, 2)"),
    "expanded": layers(forward="return x.expand(5, -1, 6)"),
    "split": layers(forward="a, b = x.split([5, 6], dim=-1)\nreturn a.sum() + b.sum()"),
    "chance_loss": layers(takes="scores, wanted", forward="return F.binary_cross_entropy(scores, wanted)"),
    "summed_by_letters": layers(takes="one, other", forward="return torch.einsum('bhid,bhjd->bhij', one, other)"),
    "batched_product": layers("nn.Linear(11, 6)", takes="x, y", forward="return torch.bmm(self.a(x), y)"),
    "resized": layers(forward="return F.interpolate(x, scale_factor=2, mode='bilinear')"),
    "deep_index": layers(forward="return x[:, 0, :, 1, 0] + x.shape[4]"),
    "shape_by_index": layers(forward="n = x.shape[3]\nreturn x.sum(0) / n"),
    "bits": layers(takes="flags", forward="return (flags & 3) + torch.bitwise_not(flags)"),
    "few_rows": layers("nn.Embedding(2, 6)", takes="kind, x", forward="return self.a(kind).sum() + x"),
    "made_of_many_things": "class Kind(enum.Enum):\n    A = 1\n\n\nclass Pair(typing.NamedTuple):\n    low: int\n    high: int\n\n\n"
    + "@dataclasses.dataclass\nclass Size:\n    width: int = 4\n    deep: bool = False\n\n\n"
    + "class Plain:\n    def __init__(self, rate):\n        self.rate = rate\n\n\n"
    + layers(
        "nn.Linear(sizes[0] + names['more'][1], wide.width)",
        "act()",
        "(kinds, kind, pair.low, part, dtype, device, phase, plain.rate)",
        "function",
        arguments="sizes, names, kinds, kind, pair, wide, part, dtype, device, phase, plain, act, function, text",
        forward="return self.d(self.b(self.a(x))) * x.new_tensor(self.c[2])",
    )
    + "\n\ndef make():\n    return Net([8, 4], {'more': (1, 2)}, {3, 4}, Kind.A, Pair(2, 5), Size(6), slice(0, 2), torch.float32,"
    + " torch.device('cpu'), 1j, Plain(0.5), nn.ReLU, F.gelu, 'words')\n",
}
