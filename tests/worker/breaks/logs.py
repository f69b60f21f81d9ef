"""Logging, warnings, time, random: calls that Dynamo does not trace."""
import logging
import random
import time
import warnings

import torch

log = logging.getLogger(__name__)


def logging_(x):
    x = x + 1
    log.warning("sum %s", 1)
#   ^^^^^^^^^^^^^^^^^^^^^^^^ GB0291 split in logging_
    return x * 2


def warning(x):
    x = x + 1
    warnings.warn("careful", stacklevel=2)
#   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ GB0007 split in warning
    return x * 2


def clock(x):
    begin = time.time(); x = x + 1
#           ^^^^^^^^^^^ GB0007 split in clock
    return x * 2, begin > 0


def chance(x):
    x = x + 1
    return x * 2 if random.random() < 2 else x
#                   ^^^^^^^^^^^^^^^ GB0007 split in chance


def graphglue_inputs():
    yield "logging", logging_, (torch.ones(3),), {}  # breaks, 2 graphs
    yield "warning", warning, (torch.ones(3),), {}  # breaks, 2 graphs
    yield "clock", clock, (torch.ones(3),), {}  # breaks, 1 graph
    yield "chance", chance, (torch.ones(3),), {}  # breaks, 2 graphs
