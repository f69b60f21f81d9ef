"""A break under a context manager of the user's skips the function; under torch's own it splits the graph."""
import contextlib

import torch


@contextlib.contextmanager
def scope(name):
    yield name


class Scope:
    def __enter__(self):
        return self

    def __exit__(self, *exc):
        return False


def of_a_generator(x):
    x = x + 1
    with scope("a"):
        n = x.sum().item()
#           ^^^^^^^^^^^^^^ GB0124 skip +GB0066 +GB0003 in of_a_generator
    return x * n


def of_a_class(x):
    x = x + 1
    with Scope():
        if x.sum() > 0:
#          ^^^^^^^^^^^ GB0170 skip +GB0066 in of_a_class
            x = x * 2
    return x


def of_torch(x):
    x = x + 1
    with torch.no_grad():
        print("inside")
#       ^^^^^^^^^^^^^^^ GB0059 split in of_torch
        x = x * 2
    return x


def entering(x):
    x = x + 1
    with open("/dev/null") as f, torch.no_grad():
#        ^^^^^^^^^^^^^^^^^ GB0059 split in entering
#        ^^^^^^^^^^^^^^^^^ GB0142 skip in entering
        x = x * len(f.read()) + 1
    return x


def second_item(x):
    x = x + 1
    with torch.no_grad(), torch.autograd.detect_anomaly(check_nan=False):
#                         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ GB0008 split in second_item
#                         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ GB0142 skip in second_item
        x = x * 2
    return x


def graphglue_inputs():
    yield "of_a_generator", of_a_generator, (torch.ones(3),), {}  # breaks, 0 graphs
    yield "of_a_class", of_a_class, (torch.ones(3),), {}  # breaks, 0 graphs
    yield "of_torch", of_torch, (torch.ones(3),), {}  # breaks, 2 graphs
    yield "entering", entering, (torch.ones(3),), {}  # breaks, 1 graph
    yield "second_item", second_item, (torch.ones(3),), {}  # breaks, 1 graph
