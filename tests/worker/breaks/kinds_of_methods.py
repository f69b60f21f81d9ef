"""Class methods, static methods, dataclass methods, bound methods as entries."""
import dataclasses

import torch


class Ops:
    bias = 1

    @classmethod
    def shift(cls, x):
        print(cls.bias)
#       ^^^^^^^^^^^^^^^ GB0059 split x2 in Ops.shift [classmethod]
        return x + cls.bias

    @staticmethod
    def scale(x):
        return x * x.max().item()
#                  ^^^^^^^^^^^^^^ GB0124 split x2 in Ops.scale [staticmethod]

    def bound(self, x):
        if x.sum() > self.bias:
#          ^^^^^^^^^^^^^^^^^^^ GB0170 split in Ops.bound [bound]
            return x * 2
        return x


@dataclasses.dataclass
class Batch:
    x: torch.Tensor
    n: float = 0.0

    def __post_init__(self):
        self.n = self.x.sum().item()
#                ^^^^^^^^^^^^^^^^^^^ GB0124 split x2 in Batch.__post_init__ [dataclass]

    def normal(self):
        return self.x / self.n


def classmethod_(x):
    return Ops.shift(x * 2) * 3


def staticmethod_(x):
    return Ops.scale(x * 2) * 3


def dataclass_(x):
    return Batch(x * 2).normal()


def graphglue_inputs():
    yield "classmethod", classmethod_, (torch.ones(3),), {}  # breaks, 3 graphs
    yield "staticmethod", staticmethod_, (torch.ones(3),), {}  # breaks, 4 graphs
    yield "bound", Ops().bound, (torch.ones(3),), {}  # breaks, 2 graphs
    yield "dataclass", dataclass_, (torch.ones(3),), {}  # breaks, 1 graph
