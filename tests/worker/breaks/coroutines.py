"""An async function driven by hand from a traced one."""
import torch


async def later(x):
    x = x + 1
    n = x.sum().item()
#       ^^^^^^^^^^^^^^ GB0124 split x2 in later [drive]
    return x * n


def drive(x):
    coroutine = later(x * 2)
    try:
        coroutine.send(None)
    except StopIteration as done:
        return done.value


def graphglue_inputs():
    yield "drive", drive, (torch.ones(3),), {}  # capture_error, 2 graphs
