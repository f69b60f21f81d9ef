"""A custom autograd.Function whose forward breaks."""
import torch


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.by = x.max().item()
#                ^^^^^^^^^^^^^^ GB0124 split x2 in Scale.forward
        return x * ctx.by

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.by


def f(x):
    x = x + 1
    return Scale.apply(x) * 2


def graphglue_inputs():
    yield "f", f, (torch.ones(3, requires_grad=True),), {}  # breaks, 4 graphs
