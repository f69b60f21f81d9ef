"""A break inside `try`: Dynamo cannot resume there."""
import torch


def at_once(x):
    try:
        print("at once")
#       ^^^^^^^^^^^^^^^^ GB0059 skip in at_once
        return x + 1
    except ValueError:
        return x


def after_some_work(x):
    x = x * 2 + 1
    try:
        n = x.sum().item()
#           ^^^^^^^^^^^^^^ GB0124 split in after_some_work
        return x + n
    except ValueError:
        return x


def in_the_handler(x):
    try:
        raise KeyError("no")
    except KeyError:
        x = x + 1
        print("handled")
#       ^^^^^^^^^^^^^^^^ GB0059 skip in in_the_handler
    return x


def in_finally(x):
    try:
        x = x * 2
    finally:
        print("done")
#       ^^^^^^^^^^^^^ GB0059 split in in_finally
    return x + 1


def graphglue_inputs():
    yield "at_once", at_once, (torch.ones(4),), {}  # breaks, 0 graphs
    yield "after_some_work", after_some_work, (torch.ones(4),), {}  # breaks, 1 graph
    yield "in_the_handler", in_the_handler, (torch.ones(4),), {}  # breaks, 0 graphs
    yield "in_finally", in_finally, (torch.ones(4),), {}  # breaks, 2 graphs
