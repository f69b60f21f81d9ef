"""With torch._dynamo.config.nested_graph_breaks a break in a called function no longer splits its callers at the call."""
import torch
import torch._dynamo

torch._dynamo.config.nested_graph_breaks = True


def inner(h):
    h = h * 2
    print("inner")
#   ^^^^^^^^^^^^^^ GB0059 split in inner via inner < outer
    return h + 1


def outer(x):
    x = x - 1
    x = inner(x)
    return x * 3


def graphglue_inputs():
    yield "outer", outer, (torch.ones(3),), {}  # breaks, 2 graphs
