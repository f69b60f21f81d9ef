"""Which modules' calls are known to be pure, and what of: anything that a call may leave behind, draw or hand on makes it unknown."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402 - torch may be missing

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "analysis" / "worker"))
from graphglue_worker import pure_modules  # noqa: E402 - after the path is set


class Own(nn.Linear):
    pass


def hooked(module: nn.Module) -> nn.Module:
    module.register_forward_hook(lambda *_: None)
    return module


def patched(module: nn.Module) -> nn.Module:
    module.forward = lambda x: x
    return module


def of_two_dtypes() -> nn.Module:
    norm = nn.LayerNorm(4)
    norm.bias = nn.Parameter(torch.zeros(4, dtype=torch.float64))
    return norm


def channels_last(module: nn.Module) -> nn.Module:
    return module.to(memory_format=torch.channels_last)


IMPURE = {
    "draws": nn.Dropout(0.1),
    "running statistics": nn.BatchNorm1d(4),
    "changes its input": nn.ReLU(inplace=True),
    "changes its input behind what gives it back": nn.Sequential(nn.Identity(), nn.ReLU(inplace=True)),
    "fails for an index": nn.Embedding(4, 4),
    "a class of one's own": Own(4, 4),
    "a hook": hooked(nn.Linear(4, 4)),
    "forward of its own": patched(nn.Linear(4, 4)),
    "parametrized": nn.utils.parametrizations.spectral_norm(nn.Linear(4, 4)),
    "weight norm": nn.utils.weight_norm(nn.Linear(4, 4)),
    "two dtypes": of_two_dtypes(),
    "strides": channels_last(nn.Conv2d(4, 4, 3)),
    "sizes that depend on the input": nn.Conv2d(4, 4, 3, padding="same"),
    "padding": nn.Conv2d(4, 4, 3, padding=1, padding_mode="circular"),
    "dimension by the rank": nn.Softmax(),
    "within": nn.Sequential(nn.Linear(4, 4), nn.Sequential(nn.Tanh(), nn.Dropout())),
    "compiled": nn.Linear(4, 4),
    "not yet there": nn.LazyLinear(4),
}
IMPURE["compiled"].compile(backend="eager")


@pytest.mark.parametrize("name", IMPURE)
def test_not_known(name: str) -> None:
    assert pure_modules.steps(IMPURE[name]) is None


def test_hooks_of_all_modules() -> None:
    handle = nn.modules.module.register_module_forward_hook(lambda *_: None)
    try:
        assert pure_modules.steps(nn.Linear(4, 4)) is None
    finally:
        handle.remove()
    assert pure_modules.steps(nn.Linear(4, 4))


def test_steps() -> None:
    net = nn.Sequential(nn.Linear(4, 8), nn.Identity(), nn.LayerNorm(8, elementwise_affine=False), nn.Softplus())
    assert pure_modules.steps(net) == [
        {"op": "linear", "sizes": [4, 8], "dtype": "torch.float32", "device": "cpu"},
        {"op": "same"},
        {"op": "tail", "sizes": [8], "widens": True},
        {"op": "map", "widens": True},
    ]
    assert pure_modules.steps(nn.Conv1d(3, 2, 5, stride=2, padding=1)) == [
        {"op": "conv", "sizes": [3, 2, 5, 2, 1, 1], "dtype": "torch.float32", "device": "cpu"}
    ]


def test_in_place_on_a_tensor_of_its_own() -> None:
    steps = pure_modules.steps(nn.Sequential(nn.Linear(4, 4), nn.ReLU(inplace=True)))
    assert steps and [s["op"] for s in steps] == ["linear", "map"]


def test_a_long_chain() -> None:
    assert pure_modules.steps(nn.Sequential(*(nn.Tanh() for _ in range(pure_modules.MAX_STEPS + 1)))) is None
