"""Breaks that the user asked for."""
import torch


@torch.compiler.disable
def untouched(x):
    return x * x.sum().item()


def calls_disabled(x):
    x = x + 1
    x = untouched(x)
#       ^^^^^^^^^^^^ GB0098 split in calls_disabled
    return x * 2


def explicit(x):
    x = x + 1
    torch._dynamo.graph_break()
#   ^^^^^^^^^^^^^^^^^^^^^^^^^^^ GB0025 split in explicit
    return x * 2


def graphglue_inputs():
    yield "calls_disabled", calls_disabled, (torch.ones(3),), {}  # breaks, 2 graphs
    yield "explicit", explicit, (torch.ones(3),), {}  # breaks, 2 graphs
