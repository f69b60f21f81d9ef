"""Breaks inside f-strings."""
import torch


def formatted(x):
    x = x + 1
    name = f"mean {x.mean().item():.2f} of {x.dim()} dims"
#                  ^^^^^^^^^^^^^^^ GB0124 split in formatted
    return x * len(name)


def nested(x):
    x = x + 1
    width = f"{'a':>{int(x.sum())}}"
#                    ^^^^^^^^^^^^ GB0124 split in nested
    return x * len(width)


def graphglue_inputs():
    yield "formatted", formatted, (torch.ones(3),), {}  # breaks, 2 graphs
    yield "nested", nested, (torch.ones(3),), {}  # breaks, 2 graphs
