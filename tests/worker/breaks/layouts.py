"""Unusual ways to lay out the same things."""
import torch


def comments_inside(x):
    x = x + 1
    if (  # why
        x.sum()  # a sum
#       ^^^^^^^^^^^^^^^^
        # a comment of its own
        > 0
#       ^^^ GB0170 split in comments_inside
    ):
        x = x * 2
    return x


def two_lines_of_and(x, on=True):
    x = x + 1
    if (on
            and x.sum() > 0):
#               ^^^^^^^^^^^ GB0170 split in two_lines_of_and
        x = x * 2
    return x


def with_brackets(x):
    x = x + 1
    with (
        torch.no_grad(),
        torch.autograd.detect_anomaly(check_nan=False) as nothing,
#       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ GB0008 split in with_brackets
#       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ GB0142 skip in with_brackets
    ):
        x = x * 2
    return x, nothing


def doubled_brackets(x):
    x = x + 1
    n = ((x.sum().item()))
#         ^^^^^^^^^^^^^^ GB0124 split in doubled_brackets
    return x * n


def nested_subscripts(x):
    x = x + 1
    table = {"a": [1, 2, 3]}
    return x * table["a"][x.argmax()]
#              ^^^^^^^^^^^^^^^^^^^^^^ GB0124 split in nested_subscripts


def call_of_a_call(x):
    x = x + 1
    return (lambda n: lambda t: t * n)(x.sum().item())(x)
#                                      ^^^^^^^^^^^^^^ GB0124 split in call_of_a_call


def keyword(x):
    x = x + 1
    print(x.dim(), end="", sep="")
#   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ GB0059 split in keyword
    return x * 2


def percent(x):
    x = x + 1
    text = "%s" % x.dim() + "%.1f" % x.mean()
#                           ^^^^^^^^^^^^^^^^^ GB0033 skip in percent
    return x * len(text)


def graphglue_inputs():
    yield "comments_inside", comments_inside, (torch.ones(3),), {}  # breaks, 2 graphs
    yield "two_lines_of_and", two_lines_of_and, (torch.ones(3),), {}  # breaks, 2 graphs
    yield "with_brackets", with_brackets, (torch.ones(3),), {}  # breaks, 1 graph
    yield "doubled_brackets", doubled_brackets, (torch.ones(3),), {}  # breaks, 2 graphs
    yield "nested_subscripts", nested_subscripts, (torch.ones(3),), {}  # breaks, 2 graphs
    yield "call_of_a_call", call_of_a_call, (torch.ones(3),), {}  # breaks, 2 graphs
    yield "keyword", keyword, (torch.ones(3),), {}  # breaks, 2 graphs
    yield "percent", percent, (torch.ones(3),), {}  # breaks, 0 graphs
