"""What a call of a module from torch.nn does to a tensor, for rules that compute both arms of a branch.

Only modules whose call is pure and, for inputs of the sizes told, cannot fail: no random numbers, no running statistics, no hooks, no class of the
user's.  A call is a list of steps, in order:

* ``{"op": "map"}``: another tensor of the same sizes, element by element; of floating tensors;
* ``{"op": "same"}``: the tensor itself;
* ``{"op": "along", "sizes": [dim]}``: a softmax;
* ``{"op": "tail", "sizes": [...]}``: a norm over the last dimensions, which are these;
* ``{"op": "linear", "sizes": [in, out]}``: of the last dimension;
* ``{"op": "conv", "sizes": [in, out, (kernel, stride, padding, dilation) of each dimension…]}``: with a batch dimension.

``dtype`` and ``device`` are those of its parameters, ``widens`` says that autocast makes the result float32.
"""

from typing import Any

import torch
from torch import nn
from torch.nn.modules import module as module_globals

MAX_STEPS = 32
MAX_DEPTH = 4
Step = dict[str, Any]

_MAPS = (
    nn.CELU,
    nn.ELU,
    nn.GELU,
    nn.Hardshrink,
    nn.Hardsigmoid,
    nn.Hardswish,
    nn.Hardtanh,
    nn.LeakyReLU,
    nn.LogSigmoid,
    nn.Mish,
    nn.ReLU,
    nn.ReLU6,
    nn.SELU,
    nn.SiLU,
    nn.Sigmoid,
    nn.Softplus,
    nn.Softshrink,
    nn.Softsign,
    nn.Tanh,
    nn.Tanhshrink,
)
_DROPOUTS = (nn.Dropout, nn.AlphaDropout)  # others want inputs of certain ranks
_CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d)
_HOOKS = (
    "_forward_hooks",
    "_forward_pre_hooks",
    "_backward_hooks",
    "_backward_pre_hooks",
)
_GLOBAL_HOOKS = (
    "_global_forward_hooks",
    "_global_forward_pre_hooks",
    "_global_backward_hooks",
    "_global_backward_pre_hooks",
)


def _is_plain(module: nn.Module) -> bool:
    """Does calling it run its class's ``forward`` and nothing else?"""
    own = module.__dict__
    hooked = any(own.get(name) for name in _HOOKS) or any(getattr(module_globals, name, None) for name in _GLOBAL_HOOKS)
    return not hooked and "forward" not in own and own.get("_compiled_call_impl") is None


def _with_parameters(module: nn.Module, step: Step) -> Step | None:
    """The step, with the dtype and device that all its parameters have; None when they are not alike, or no plain dense tensors."""
    parameters = [p for p in module._parameters.values() if p is not None]
    plain = all(type(p) in (nn.Parameter, torch.Tensor) and p.layout == torch.strided for p in parameters)
    kinds = {(str(p.dtype), str(p.device)) for p in parameters}
    return {**step, **dict(zip(("dtype", "device"), kinds.pop(), strict=True))} if plain and len(kinds) == 1 else None


def _numbers(*groups: Any) -> list[int] | None:
    flat = [n for group in groups for n in (group if isinstance(group, tuple) else (group,))]
    return flat if all(type(n) is int for n in flat) else None


def _convolution(module: Any) -> Step | None:
    if module.padding_mode != "zeros" or isinstance(module.padding, str) or not module.weight.is_contiguous():
        return None
    dims = zip(module.kernel_size, module.stride, module.padding, module.dilation, strict=True)
    sizes = _numbers(module.in_channels, module.out_channels, *dims)
    return _with_parameters(module, {"op": "conv", "sizes": sizes}) if sizes else None


def _step(module: Any, fresh: bool) -> Step | None:
    kind, in_place = type(module), getattr(module, "inplace", False)
    if in_place and not fresh:
        return None
    if kind is nn.Identity or (kind in _DROPOUTS and module.p == 0):
        return {"op": "same"}
    if kind in _MAPS:
        return {"op": "map", "widens": True} if kind is nn.Softplus else {"op": "map"}
    if kind in (nn.Softmax, nn.LogSoftmax):
        sizes = _numbers(module.dim)
        return {"op": "along", "sizes": sizes, "widens": True} if sizes else None
    if kind is nn.LayerNorm:
        sizes = _numbers(*module.normalized_shape)
        step = {"op": "tail", "sizes": sizes, "widens": True}
        return None if not sizes else _with_parameters(module, step) if module.elementwise_affine else step
    if kind is nn.Linear:
        sizes = _numbers(module.in_features, module.out_features)
        return _with_parameters(module, {"op": "linear", "sizes": sizes}) if sizes else None
    return _convolution(module) if kind in _CONVOLUTIONS else None


def steps(module: nn.Module, depth: int = 0, fresh: bool = False) -> list[Step] | None:
    """The steps of a call; None when it is not known to be pure.  ``fresh``: nobody else holds its input, so it may be changed in place."""
    if not _is_plain(module) or depth > MAX_DEPTH:
        return None
    if type(module) is not nn.Sequential:
        step = _step(module, fresh)
        return [step] if step else None
    found: list[Step] = []
    for part in module:
        own = steps(part, depth + 1, fresh)
        if own is None or len(found) + len(own) > MAX_STEPS:
            return None
        found += own
        fresh = fresh or any(s["op"] != "same" for s in own)
    return found or [{"op": "same"}]


def steps_of(module: nn.Module) -> list[Step] | None:
    """The steps of a call; of a ``ModuleList`` those that a call of each of its modules takes, where they are the same ones."""
    if type(module) is not nn.ModuleList:
        return steps(module)
    found = [steps(child) for child in module]
    return found[0] if found and all(one == found[0] for one in found) else None
