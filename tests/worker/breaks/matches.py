"""match statements."""
import torch


def subject(x):
    x = x + 1
    match x.sum().item():
#         ^^^^^^^^^^^^^^ GB0124 split in subject
        case 6.0:
            return x * 2
        case _:
            return x * 3


def guard(x):
    x = x + 1
    match x.dim():
        case 1 if x.sum() > 0:
#                 ^^^^^^^^^^^ GB0170 split in guard
            return x * 2
        case _:
            return x * 3


def graphglue_inputs():
    yield "subject", subject, (torch.ones(3),), {}  # breaks, 2 graphs
    yield "guard", guard, (torch.ones(3),), {}  # breaks, 2 graphs
