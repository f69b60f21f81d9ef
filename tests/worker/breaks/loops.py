"""Loops: after a break, inside `try`, nested, with `else`, over an iterator that is computed."""
import torch


def after_a_break(x):
    x = x * 2
    print("before the loop")
#   ^^^^^^^^^^^^^^^^^^^^^^^^ GB0059 split in after_a_break
    for i in range(2):
        x = x + x.max().item()
#               ^^^^^^^^^^^^^^ GB0124 skip loop +GB7000 in after_a_break
    return x


def nested(x):
    for i in range(2):
        for j in range(2):
            if (x > i * j).all():
#              ^^^^^^^^^^^^^^^^^ GB0170 skip loop +GB7000 in nested
                x = x + 1
    return x


def of_else(x):
    for i in range(2):
        x = x + i
    else:
        x = x * x.max().item()
#               ^^^^^^^^^^^^^^ GB0124 split in of_else
    return x


def iterated(x):
    x = x + 1
    for v in x.tolist():
#            ^^^^^^^^^^ GB0109 split in iterated
        x = x + v
    return x


def last_in_body(x):
    while True:
        x = x + 1
        if x.sum() > 0:
#          ^^^^^^^^^^^ GB0170 skip loop +GB7000 in last_in_body
            break
    return x


def graphglue_inputs():
    yield "after_a_break", after_a_break, (torch.ones(3),), {}  # breaks, 1 graph
    yield "nested", nested, (torch.ones(3),), {}  # breaks, 0 graphs
    yield "of_else", of_else, (torch.ones(3),), {}  # breaks, 2 graphs
    yield "iterated", iterated, (torch.ones(3),), {}  # breaks, 2 graphs
    yield "last_in_body", last_in_body, (torch.ones(3),), {}  # breaks, 0 graphs
