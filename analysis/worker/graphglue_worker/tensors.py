"""Tensors in recipes: {"shape": […], "dtype": "float32", "fill": …}, and how to make them, describe them and write them as code.

Fills and their keys: ``normal`` (mean, std; default 0, 1), ``uniform`` (low, high), ``integers`` (low, high; high exclusive), ``chance``
(p: the share of ones), ``full`` (value), ``values`` (values: nested lists), ``arange`` (along the last dimension; scale), ``blob`` (offset:
bytes kept as they were, row-major).
Optional: ``device``, ``strides``, ``requires_grad``, ``parameter``.
"""

import math
import re
from typing import Any

import torch

from graphglue_worker import devices

Spec = dict[str, Any]
FEW = 32  # integers that are written out: lengths and offsets mean something
_DRAWN = ("float16", "bfloat16", "float32", "float64", "complex64", "complex128")


def dtype_named(name: str) -> torch.dtype:
    """torch.float32 of "float32".  Raises ValueError."""
    found = getattr(torch, name, None)
    if not isinstance(found, torch.dtype):
        raise ValueError(f"torch has no dtype {name}")
    return found


def dtype_name(dtype: torch.dtype) -> str:
    """ "float32" of torch.float32."""
    return str(dtype).removeprefix("torch.")


def make(spec: Spec, blob: bytes = b"") -> torch.Tensor:
    """The tensor, drawn from torch's generator where it is random."""
    shape, dtype = tuple(spec["shape"]), dtype_named(spec["dtype"])
    value = _filled(spec, shape, dtype, blob)
    device = spec.get("device", "cpu")
    if device != "cpu" and devices.here(device):  # else the CPU stands in
        value = value.to(device)
    if spec.get("strides"):
        strided = torch.empty_strided(shape, spec["strides"], dtype=dtype, device=value.device)
        value = strided.copy_(value) if min(spec["strides"], default=1) else value[:1].expand(shape)
    if spec.get("parameter"):
        return torch.nn.Parameter(value, requires_grad=bool(spec.get("requires_grad")))
    return value.requires_grad_() if spec.get("requires_grad") else value


def _filled(spec: Spec, shape: tuple[int, ...], dtype: torch.dtype, blob: bytes) -> torch.Tensor:
    fill = spec["fill"]
    if fill == "blob":
        count, start = math.prod(shape), spec["offset"]
        size = count * torch.empty((), dtype=dtype).element_size()
        if count == 0:
            return torch.empty(shape, dtype=dtype)
        if start < 0 or start + size > len(blob):
            raise ValueError("recorded values are incomplete")
        return torch.frombuffer(bytearray(blob[start : start + size]), dtype=dtype).reshape(shape).clone()
    if fill == "full":
        return torch.full(shape, spec["value"], dtype=dtype)
    if fill == "values":
        return torch.tensor(spec["values"], dtype=dtype).reshape(shape)
    if fill == "arange":
        row = (torch.arange(shape[-1] if shape else 1, dtype=torch.float64) * spec.get("scale", 1)).to(dtype)
        return row.expand(shape).clone() if shape else row[0]
    if fill == "integers":
        return torch.randint(spec.get("low", 0), max(spec["high"], spec.get("low", 0) + 1), shape).to(dtype)
    if fill == "chance":
        return (torch.rand(shape) < spec.get("p", 0.5)).to(dtype)
    if fill == "uniform":
        low, high = spec.get("low", 0.0), spec.get("high", 1.0)
        return (torch.rand(shape) * (high - low) + low).to(dtype)
    if dtype.is_complex:
        return torch.randn(shape, dtype=dtype)
    return (torch.randn(shape) * spec.get("std", 1.0) + spec.get("mean", 0.0)).to(dtype)


def describe(value: torch.Tensor) -> Spec:
    """A spec that makes a tensor like this one: its range and spread, not its values (unless they follow a pattern).

    Raises ValueError for what has no plain storage.
    """
    if (
        value.layout != torch.strided
        or value.is_quantized
        or value.is_meta
        or type(value) not in (torch.Tensor, torch.nn.Parameter)
    ):
        raise ValueError(f"{type(value).__name__} of layout {value.layout}")
    spec: Spec = {"shape": list(value.shape), "dtype": dtype_name(value.dtype)}
    if value.device.type != "cpu":
        spec["device"] = str(value.device)
    if value.requires_grad:
        spec["requires_grad"] = True
    if isinstance(value, torch.nn.Parameter):
        spec["parameter"] = True
    if unusual_strides(value):
        spec["strides"] = list(value.stride())
    return {**spec, **_pattern(value.detach())}


def unusual_strides(value: torch.Tensor) -> bool:
    """Is it neither contiguous nor of a single element?"""
    return value.numel() > 1 and not value.is_contiguous()


def _pattern(x: torch.Tensor) -> Spec:
    if x.numel() == 0:
        return {"fill": "full", "value": 0}
    if x.dtype.is_complex:
        return {"fill": "normal"}
    x = x.cpu()
    if x.dtype == torch.bool:
        share = float(x.float().mean())
        return (
            {"fill": "full", "value": bool(share)} if share in (0.0, 1.0) else {"fill": "chance", "p": round(share, 3)}
        )
    low, high = float(x.double().min()), float(x.double().max())
    if low == high and math.isfinite(low):
        return {"fill": "full", "value": low if x.dtype.is_floating_point else int(low)}
    if not x.dtype.is_floating_point:
        row = torch.arange(x.shape[-1]) if x.dim() else None
        if row is not None and bool((x == row.to(x.dtype)).all()):
            return {"fill": "arange"}
        if x.numel() <= FEW:
            return {"fill": "values", "values": x.tolist()}
        return {"fill": "integers", "low": int(low), "high": int(high) + 1}
    if not math.isfinite(low) or low < -1e4:  # an additive mask: nothing is masked
        return {"fill": "full", "value": 0.0}
    if not math.isfinite(high):
        return {"fill": "normal"}
    return floats_like(low, high, float(x.double().mean()), float(x.double().std()) if x.numel() > 1 else 0.0)


def floats_like(low: float, high: float, mean: float, std: float) -> Spec:
    """A fill for floating point numbers of which only this is known."""
    if low >= 0:
        return {"fill": "uniform", "low": round(low, 6), "high": round(high, 6)}
    near = abs(mean) < 0.2 * max(std, 1e-9) and 0.5 < std < 2
    return {"fill": "normal"} if near else {"fill": "normal", "mean": round(mean, 6), "std": round(std, 6)}


def source(spec: Spec, grad: bool = True) -> str:
    """The tensor as a short expression in Python.  `grad`: it says also whether it requires gradients."""
    shape, dtype = tuple(spec["shape"]), spec["dtype"]
    compact = tuple(1 if s == 0 else n for n, s in zip(shape, spec.get("strides") or shape, strict=True))
    text = _filled_source({**spec, "shape": list(compact)}, compact, dtype)
    if compact != shape:
        text = f"{_closed(text)}.expand({', '.join(map(str, shape))})"
    elif spec.get("strides"):
        text = f"torch.empty_strided({shape!r}, {tuple(spec['strides'])!r}{_dtype(dtype, 'float32')}).copy_({text})"
    if spec.get("device", "cpu") != "cpu":
        text = f'{_closed(text)}.to("{spec["device"]}")'
    requires = grad and bool(spec.get("requires_grad"))
    if spec.get("parameter"):
        return f"torch.nn.Parameter({text}{'' if requires else ', requires_grad=False'})"
    return f"{_closed(text)}.requires_grad_()" if requires else text


def _closed(text: str) -> str:
    """In parentheses where a method could not be called on it."""
    return (
        text if re.fullmatch(r"torch\.\w+\([^()]*(\([^()]*\)[^()]*)*\)(\.\w+\([^()]*\))*|\(.*\)", text) else f"({text})"
    )


def _filled_source(spec: Spec, shape: tuple[int, ...], dtype: str) -> str:
    size = repr(shape) if len(shape) != 1 else f"({shape[0]},)"
    plain = ", ".join(map(str, shape)) if shape else "()"
    fill = spec["fill"]
    if fill == "integers":
        return f"torch.randint({spec.get('low', 0)}, {max(spec['high'], spec.get('low', 0) + 1)}, {size}{_dtype(dtype, 'int64')})"
    if fill == "full":
        made = {0: "zeros", 1: "ones"}.get(spec["value"])
        if made:
            return f"torch.{made}({plain}{_dtype(dtype, 'float32')})"
        return f"torch.full({size}, {spec['value']!r}{_dtype(dtype, {float: 'float32', int: 'int64'}[type(spec['value'])])})"
    if fill == "values":
        return f"torch.tensor({spec['values']!r}{_dtype(dtype, 'int64')})"
    if fill == "arange":
        scale = spec.get("scale", 1)
        stop = shape[-1] if shape else 1
        steps = f"{stop}" if scale == 1 else f"0, {stop * scale}, {scale}"
        row = f"torch.arange({steps}{_dtype(dtype, 'int64' if isinstance(scale, int) else 'float32')})"
        return (
            f"{row}.repeat({', '.join(map(str, [*shape[:-1], 1]))})"
            if len(shape) > 1
            else row
            if shape
            else f"{row}[0]"
        )
    if fill == "chance":
        text = f"torch.rand({plain}) < {spec.get('p', 0.5):.2g}"
        return f"({text})" if dtype == "bool" else f"({text}).to(torch.{dtype})"
    if fill == "uniform":
        low, high = spec.get("low", 0.0), spec.get("high", 1.0)
        text = f"torch.rand({plain})" + (f" * {high - low:.4g} + {low:.4g}" if (low, high) != (0.0, 1.0) else "")
        return text if dtype == "float32" else f"{_closed(text)}.to(torch.{dtype})"
    mean, std = spec.get("mean", 0.0), spec.get("std", 1.0)
    drawn = dtype in _DRAWN  # else torch cannot draw them
    text = f"torch.randn({plain}{_dtype(dtype, 'float32') if drawn else ''})"
    text += f" * {std:.4g}" if std != 1.0 else ""
    text += f" + {mean:.4g}" if mean else ""
    return text if drawn else f"{_closed(text)}.to(torch.{dtype})"


def _dtype(dtype: str, default: str | None) -> str:
    return "" if dtype == default else f", dtype=torch.{dtype}"
