"""A class whose missing attributes are computed."""
import torch


class Lazy:
    def __init__(self, x):
        self.x = x

    def __getattr__(self, name):
        print("computing", name)
#       ^^^^^^^^^^^^^^^^^^^^^^^^ GB0059 skip in Lazy.__getattr__
        return self.x * 2


def f(x):
    lazy = Lazy(x + 1)
    return lazy.double - 1


def graphglue_inputs():
    yield "f", f, (torch.ones(3),), {}  # breaks, 0 graphs
