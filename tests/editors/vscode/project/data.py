"""What the model is fed with.  It leaves a trace of having been run, and waits while a test holds it."""

import os
import time
from pathlib import Path

import torch

TRACES = Path(os.environ["GRAPHGLUE_TEST_TRACES"])
(TRACES / "imported").touch()


def batch() -> torch.Tensor:
    while (TRACES / "hold").exists():
        time.sleep(0.05)
    return torch.randn(4, 8)
