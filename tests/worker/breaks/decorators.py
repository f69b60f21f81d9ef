"""Breaks in a decorator's wrapper, and in the function below one."""
import functools

import torch


def logged(fn):
    @functools.wraps(fn)
    def wrapper(*args, **kwargs):
        print("calling", fn.__name__)
#       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ GB0059 split x2 in logged.<locals>.wrapper [wrapped]
        return fn(*args, **kwargs)

    return wrapper


def times(n):
    def decorate(fn):
        @functools.wraps(fn)
        def wrapper(x):
            for _ in range(n):
                x = fn(x)
            return x

        return wrapper

    return decorate


@logged
def shift(x):
    return x + 1


@times(2)
def grow(x):
    return x * x.max().item()
#              ^^^^^^^^^^^^^^ GB0124 skip loop +GB7000 x3 in grow [repeated]


def wrapped(x):
    return shift(x * 2) * 3


def repeated(x):
    return grow(x * 2)


def graphglue_inputs():
    yield "wrapped", wrapped, (torch.ones(3),), {}  # breaks, 3 graphs
    yield "repeated", repeated, (torch.ones(3),), {}  # breaks, 4 graphs
