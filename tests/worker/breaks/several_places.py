"""The same function called twice from one: its own line is one site, however it is reached."""
import torch


def norm(t):
    return t / t.max().item()
#              ^^^^^^^^^^^^^^ GB0124 split x3 in norm


def f(x, y):
    a = norm(x + 1)
    b = norm(y + 2)
    return a * b


def graphglue_inputs():
    yield "f", f, (torch.ones(3), torch.ones(3)), {}  # breaks, 6 graphs
