"""Breaks in the element, the condition and the source of a comprehension."""
import torch


def element(x):
    x = x + 1
    values = [t.item() * 2 for t in x.unbind()]
#             ^^^^^^^^ GB0124 split in element
    return x * values[0]


def condition(x):
    x = x + 1
    kept = [t for t in x.unbind() if t > 0]
#                                    ^^^^^ GB0170 split in condition
    return torch.stack(kept)


def source(x):
    x = x + 1
    return [x * v for v in x.tolist()]
#                          ^^^^^^^^^^ GB0109 split in source


def of_a_dict(x):
    x = x + 1
    table = {k: t.item() for k, t in enumerate(x.unbind())}
#               ^^^^^^^^ GB0124 skip +GB8335 in of_a_dict
    return x * table[0]


def graphglue_inputs():
    yield "element", element, (torch.ones(3),), {}  # breaks, 2 graphs
    yield "condition", condition, (torch.ones(3),), {}  # breaks, 2 graphs
    yield "source", source, (torch.ones(3),), {}  # breaks, 2 graphs
    yield "of_a_dict", of_a_dict, (torch.ones(3),), {}  # breaks, 0 graphs
