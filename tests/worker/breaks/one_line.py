"""Compound statements on one line."""
import torch


def after_if(x):
    x = x + 1
    if x.sum() > 0: x = x * 2
#      ^^^^^^^^^^^ GB0170 split in after_if
    return x


def body_of_if(x, on=True):
    x = x + 1
    if on: x = x * x.sum().item()
#                  ^^^^^^^^^^^^^^ GB0124 split in body_of_if
    return x


def body_of_for(x):
    for t in x.unbind(): x = x + t.item()
#                                ^^^^^^^^ GB0124 skip loop +GB7000 in body_of_for
    return x


def semicolons(x): x = x * 2; print("a"); x = x + 1; print("b"); return x - 1
#                             ^^^^^^^^^^ GB0059 split in semicolons
#                                                    ^^^^^^^^^^ GB0059 split in semicolons


def graphglue_inputs():
    yield "after_if", after_if, (torch.ones(3),), {}  # breaks, 2 graphs
    yield "body_of_if", body_of_if, (torch.ones(3),), {}  # breaks, 2 graphs
    yield "body_of_for", body_of_for, (torch.ones(3),), {}  # breaks, 0 graphs
    yield "semicolons", semicolons, (torch.ones(3),), {}  # breaks, 3 graphs
