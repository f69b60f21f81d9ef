"""What is marked of a condition: the operand that is asked for its truth."""
import torch


def negated(x):
    x = x + 1
    if not x.any():
#          ^^^^^^^ GB0170 split in negated
        x = x * 2
    return x


def second_of_and(x, on=True):
    x = x + 1
    if on and x.sum() > 0:
#             ^^^^^^^^^^^ GB0170 split in second_of_and
        x = x * 2
    return x


def both_of_or(x):
    x = x + 1
    if (x < 0).any() or (x > 5).any():
#      ^^^^^^^^^^^^^ GB0170 split in both_of_or
#                       ^^^^^^^^^^^^^ GB0170 split in both_of_or
        x = x * 2
    return x


def chained(x):
    x = x.sum() + 1
    if 0 < x < 10:
#      ^^^^^^^^^^ GB0170 split x2 in chained
        x = x * 2
    return x


def ternary(x):
    x = x + 1
    return x * 2 if x.sum() > 0 else x * 3
#                   ^^^^^^^^^^^ GB0170 split in ternary


def elif_branch(x, mode="b"):
    x = x + 1
    if mode == "a":
        return x
    elif x.mean() > 1:
#        ^^^^^^^^^^^^ GB0170 split in elif_branch
        return x * 2
    return x * 3


def value_of_or(x):
    x = x + 1
    first = x.max() or x.min()
#           ^^^^^^^ GB0170 split in value_of_or
    return x * first


def plain_tensor(x):
    ok = (x + 1).sum() > 0
    if ok:
#      ^^ GB0170 split in plain_tensor
        x = x * 2
    return x


def graphglue_inputs():
    yield "negated", negated, (torch.zeros(3) - 1,), {}  # breaks, 2 graphs
    yield "second_of_and", second_of_and, (torch.ones(3),), {}  # breaks, 2 graphs
    yield "both_of_or", both_of_or, (torch.full((3,), 9.0),), {}  # breaks, 3 graphs
    yield "chained", chained, (torch.ones(3),), {}  # breaks, 3 graphs
    yield "ternary", ternary, (torch.ones(3),), {}  # breaks, 2 graphs
    yield "elif_branch", elif_branch, (torch.ones(3),), {}  # breaks, 2 graphs
    yield "value_of_or", value_of_or, (torch.ones(3),), {}  # breaks, 2 graphs
    yield "plain_tensor", plain_tensor, (torch.ones(3),), {}  # breaks, 2 graphs
