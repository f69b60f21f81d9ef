"""Breaks inside an installed package: the site is the innermost line of the workspace's, the package's frames are its stack."""
import os
import sys

import torch

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "site-packages"))
import library_frames_shelf as shelf


def into_the_library(x):
    x = x * 2
    x = shelf.Layer()(x)
#       ^^^^^^^^^^^^^^^^ GB0170 split x3 in into_the_library via check < Layer.__call__ < into_the_library
    return x - 1


def called_back(x):
    print("called back")
#   ^^^^^^^^^^^^^^^^^^^^ GB0059 split x3 in called_back via called_back < apply < through_the_library [through_the_library]
    return x + 1


def through_the_library(x):
    return shelf.apply(called_back, x * 2)


def graphglue_inputs():
    yield "into_the_library", into_the_library, (torch.ones(3),), {}  # breaks, 5 graphs
    yield "through_the_library", through_the_library, (torch.ones(3),), {}  # breaks, 2 graphs
