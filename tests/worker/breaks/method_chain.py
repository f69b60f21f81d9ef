"""A call on several lines is marked from its first name to its last bracket, also where only its end could not be traced."""
import torch


def in_brackets(x):
    x = x + 1
    n = (
        x
#       ^
        .float()
#       ^^^^^^^^
        .sum()
#       ^^^^^^
        .item()
#       ^^^^^^^ GB0124 split in in_brackets
    )
    return x * n


def middle(x):
    x = x + 1
    return (
        x[x.nonzero().squeeze()]
#         ^^^^^^^^^^^ GB0036 split in middle
        .float()
        .sum()
    )


def of_calls(x):
    return (x * 2).clamp(min=x.min().item()).sum().relu()
#                            ^^^^^^^^^^^^^^ GB0124 split in of_calls


def graphglue_inputs():
    yield "in_brackets", in_brackets, (torch.ones(3),), {}  # breaks, 2 graphs
    yield "middle", middle, (torch.ones(3),), {}  # breaks, 2 graphs
    yield "of_calls", of_calls, (torch.ones(3),), {}  # breaks, 1 graph
