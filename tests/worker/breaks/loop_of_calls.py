"""The loop is in the caller, the break in what it calls: both functions lose their graphs, but it is one line to mend."""
import torch


def step(x, i):
    print("step", i)
#   ^^^^^^^^^^^^^^^^ GB0059 skip loop +GB7000 x2 in step
    return x * 2


def run(x):
    for i in range(3):
        x = step(x, i)
    return x


def graphglue_inputs():
    yield "run", run, (torch.ones(4),), {}  # breaks, 1 graph
