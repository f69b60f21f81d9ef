"""No frame of the workspace: the site is the package's own line."""
import os
import sys

import torch

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "site-packages"))
import library_only_net as net


def graphglue_inputs():
    yield "net", net.Net(), (torch.ones(3),), {}  # breaks, 2 graphs
