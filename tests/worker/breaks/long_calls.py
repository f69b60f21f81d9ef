"""Arguments on several lines, and a break in one of them."""
import torch


def whole(x):
    x = x + 1
    print(
#   ^^^^^^
        "several",
#       ^^^^^^^^^^
        "lines",
#       ^^^^^^^^
    )
#   ^ GB0059 split in whole
    return x * 2


def argument(x):
    x = x + 1
    return torch.full(
        (2,),
        fill_value=x.sum().item(),
#                  ^^^^^^^^^^^^^^ GB0124 split in argument
    )


def condition(x):
    x = x + 1
    if (
        x.sum() > 0
#       ^^^^^^^^^^^ GB0170 split in condition
    ):
        x = x * 2
    return x


def graphglue_inputs():
    yield "whole", whole, (torch.ones(3),), {}  # breaks, 2 graphs
    yield "argument", argument, (torch.ones(3),), {}  # breaks, 2 graphs
    yield "condition", condition, (torch.ones(3),), {}  # breaks, 2 graphs
