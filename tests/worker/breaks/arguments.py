"""Star arguments, keyword arguments, unpacking and default values."""
import torch


def add(a, b, c=0):
    return a + b + c


def star(x):
    x = x + 1
    return x * add(*x.tolist())
#                   ^^^^^^^^^^ GB0109 split in star


def double_star(x):
    x = x + 1
    return x * add(1, 2, **{"c": x.sum().item()})
#                                ^^^^^^^^^^^^^^ GB0124 split in double_star


def unpacked(x):
    x = x + 1
    first, *rest = x.tolist()
#                  ^^^^^^^^^^ GB0109 split in unpacked
    return x * first + len(rest)


def default(x):
    x = x + 1

    def scaled(t, by=x.max().item()):
#                    ^^^^^^^^^^^^^^ GB0124 split in default
        return t * by

    return scaled(x)


def graphglue_inputs():
    yield "star", star, (torch.ones(2),), {}  # breaks, 2 graphs
    yield "double_star", double_star, (torch.ones(2),), {}  # breaks, 2 graphs
    yield "unpacked", unpacked, (torch.ones(3),), {}  # breaks, 2 graphs
    yield "default", default, (torch.ones(3),), {}  # breaks, 2 graphs
