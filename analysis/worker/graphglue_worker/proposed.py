"""Input sets that a language model proposes, as expressions of a small language.  None of it runs as Python.

An expression is a tuple of an entry's positional arguments, or a dict of keyword arguments; what it may be made of:

- numbers, strings, True, False, None, tuples, lists and dicts with strings for keys;
- ``given[0]``, ``given["mask"]``: what the entry is called with otherwise;
- ``torch.zeros(2, 3)`` and its like (`_MAKERS`), ``torch.zeros_like(given[0])`` and its like (`_LIKE`), ``math.pi``, ``float("nan")``;
- arithmetic on numbers and tensors, comparisons of tensors.

It stands for the same kind of call: tensors have the dtype, the device and the number of dimensions of those it is called with, and other
arguments their type.  What that program was not written for proves nothing about an edit of it.
"""

import ast
import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from graphglue_worker import snapshot

MOST = 16  # expressions of one request
MAX_BYTES, MAX_NODES = 4096, 512  # of one expression
MAX_ELEMENTS = 1 << 22  # of a tensor
_MAX_NUMBER = 1 << 63
_SHOWN = 100  # characters of an expression in a verdict's words
_DRAWN = ("randn", "rand", "randint")
_MAKERS = ("zeros", "ones", "full", "eye", "arange", "linspace", "tensor", *_DRAWN)
_LIKE = ("zeros_like", "ones_like", "full_like", "rand_like", "randn_like")
_NUMBERS = ("pi", "e", "tau", "inf", "nan")
_OPERATORS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Gt: operator.gt, ast.Lt: operator.lt,
    ast.GtE: operator.ge, ast.LtE: operator.le, ast.Eq: operator.eq, ast.NotEq: operator.ne,
}  # fmt: skip
_SIGNS: dict[type, Callable[[Any], Any]] = {ast.USub: operator.neg, ast.UAdd: operator.pos}


class Refused(Exception):
    """It is no input set; the text says why."""


@dataclass(frozen=True)
class Expression:
    """One that can be read.  `words`: itself, short enough to be told."""

    words: str
    tree: ast.expr

    def arguments(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], seed: int
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """What the entry is to be called with instead.  Raises Refused."""
        maker = _Maker(args, kwargs, torch.Generator().manual_seed(seed))
        value = maker.make(self.tree)
        if isinstance(value, tuple):
            return _alike(args, value, "the arguments"), kwargs
        unknown = value.keys() - kwargs.keys()
        if unknown:
            raise Refused(f"it is not called with {', '.join(sorted(unknown))}")
        return args, {k: _alike(v, value[k], k) if k in value else v for k, v in kwargs.items()}


def read(text: str) -> Expression:
    """An expression, looked at but not followed.  Raises Refused."""
    if len(text.encode("utf-8", "replace")) > MAX_BYTES:
        raise Refused("it is too long")
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as e:
        raise Refused("it is no Python expression") from e
    if sum(1 for _ in ast.walk(tree)) > MAX_NODES:
        raise Refused("it is too long")
    if not isinstance(tree, (ast.Tuple, ast.Dict)):
        raise Refused("it is neither a tuple of arguments nor a dict of them")
    words = " ".join(text.split())
    return Expression(words if len(words) <= _SHOWN else f"{words[:_SHOWN]}…", tree)


def described(arguments: Any) -> str:
    """The arguments of a call in words, from their snapshot: "(float32 [4, 4], 3), {'mask': bool [4]}"."""
    if not isinstance(arguments, snapshot.Node) or len(arguments.parts) != 2:  # noqa: PLR2004 - positional and keyword arguments
        return ""
    args, kwargs = (part for _, part in arguments.parts)
    return ", ".join(_describe(part) for part in (args, kwargs) if isinstance(part, snapshot.Node) and part.parts)[
        :1000
    ]


def _describe(value: Any, depth: int = 0) -> str:
    if isinstance(value, snapshot.Leaf):
        return f"{str(value.dtype).removeprefix('torch.')} {list(value.shape)}"
    if not isinstance(value, snapshot.Node):
        return repr(value)[:40]
    brackets = {"tuple": "()", "list": "[]", "dict": "{}"}.get(value.kind.rpartition(".")[2])
    if brackets is None or depth > 3:  # noqa: PLR2004 - deep enough to be understood
        return value.kind
    parts = (_describe(part, depth + 1) for _, part in value.parts[:16])
    named = (
        (f"{key}: {part}" for (key, _), part in zip(value.parts, parts, strict=False)) if brackets == "{}" else parts
    )
    return f"{brackets[0]}{', '.join(named)}{brackets[1]}"


class _Maker:
    """Follows one expression.  Each method raises Refused, or what torch raises of wrong arguments as Refused."""

    def __init__(self, args: tuple[Any, ...], kwargs: dict[str, Any], generator: torch.Generator) -> None:
        self._args, self._kwargs, self._generator = args, kwargs, generator

    def make(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Constant):
            if isinstance(node.value, (bool, int, float, str)) or node.value is None:
                return _small(node.value)
        elif isinstance(node, ast.Tuple):
            return tuple(self.make(x) for x in node.elts)
        elif isinstance(node, ast.List):
            return [self.make(x) for x in node.elts]
        elif isinstance(node, ast.Dict):
            return {self._key(k): self.make(v) for k, v in zip(node.keys, node.values, strict=True)}
        elif isinstance(node, ast.UnaryOp) and type(node.op) in _SIGNS:
            value = self.make(node.operand)
            return _SIGNS[type(node.op)](_operand(value))
        elif isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
            return self._apply(node.op, self.make(node.left), self.make(node.right))
        elif isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _OPERATORS:
            return self._apply(node.ops[0], self.make(node.left), self.make(node.comparators[0]))
        elif isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id == "given":
            return self._given(self.make(node.slice))
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if node.value.id in ("math", "torch") and node.attr in _NUMBERS:
                return getattr(math, node.attr)
            if node.value.id == "torch" and isinstance(getattr(torch, node.attr, None), torch.dtype):
                return getattr(torch, node.attr)
        elif isinstance(node, ast.Call):
            return self._call(node)
        raise Refused(f"`{ast.unparse(node)[:60]}` is none of what it may be made of")

    def _key(self, node: ast.expr | None) -> str:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return node.value
        raise Refused("the keys of a dict are strings")

    def _given(self, which: Any) -> Any:
        where: Any = self._args if isinstance(which, int) else self._kwargs
        try:
            return where[which]
        except (LookupError, TypeError) as e:
            raise Refused(f"there is no given[{which!r}]") from e

    def _apply(self, sign: ast.AST, left: Any, right: Any) -> Any:
        shapes = [tuple(x.shape) for x in (_operand(left), _operand(right)) if isinstance(x, torch.Tensor)]
        try:
            _bounded(torch.broadcast_shapes(*shapes))
            return _small(_OPERATORS[type(sign)](left, right))
        except (ArithmeticError, RuntimeError, TypeError) as e:
            raise Refused(str(e)) from e

    def _call(self, node: ast.Call) -> Any:
        args = [self.make(x) for x in node.args]
        kwargs = {k.arg: self.make(k.value) for k in node.keywords if k.arg}
        if len(kwargs) != len(node.keywords):
            raise Refused("`**` is not followed")
        f = node.func
        if isinstance(f, ast.Name) and f.id == "float" and len(args) == 1 and isinstance(args[0], (str, int, float)):
            return _number(args[0])
        name = (
            f.attr if isinstance(f, ast.Attribute) and isinstance(f.value, ast.Name) and f.value.id == "torch" else ""
        )
        if not kwargs.keys() <= {"dtype", "fill_value", "low", "high", "size", "start", "end", "step", "steps"}:
            raise Refused(f"torch.{name} is called with {', '.join(sorted(kwargs))}")
        try:
            if name in _LIKE and args and isinstance(args[0], torch.Tensor):
                like = torch.empty((), dtype=args[0].dtype, device="cpu").expand(_bounded(tuple(args[0].shape)))
                return (
                    self._drawn_like(name, like, kwargs)
                    if "rand" in name
                    else getattr(torch, name)(like, *args[1:], **kwargs)
                )
            if name in _MAKERS:
                with torch.device("meta"):  # how large would it be?
                    meta = getattr(torch, name)(*args, **kwargs)
                _bounded(tuple(meta.shape))
                drawn = {"generator": self._generator} if name in _DRAWN else {}
                return getattr(torch, name)(*args, **kwargs, **drawn, device="cpu")
        except (RuntimeError, TypeError, ValueError, IndexError, OverflowError) as e:
            raise Refused(str(e).split("\n")[0][:200]) from e
        raise Refused(f"`{ast.unparse(f)[:60]}` is not among what may be called")

    def _drawn_like(self, name: str, like: torch.Tensor, kwargs: dict[str, Any]) -> torch.Tensor:
        dtype = kwargs.get("dtype", like.dtype)
        return getattr(torch, name.removesuffix("_like"))(
            tuple(like.shape), dtype=dtype, generator=self._generator, device="cpu"
        )


def _number(value: Any) -> float:
    try:
        return float(value)
    except (ValueError, OverflowError) as e:
        raise Refused(str(e)) from e


def _operand(value: Any) -> Any:
    if isinstance(value, (int, float)) or (
        isinstance(value, torch.Tensor) and type(value) in (torch.Tensor, torch.nn.Parameter)
    ):
        return value.detach() if isinstance(value, torch.Tensor) else value
    raise Refused(f"{type(value).__name__} is nothing to calculate with")


def _small(value: Any) -> Any:
    if isinstance(value, int) and abs(value) > _MAX_NUMBER:
        raise Refused("a number is too large")
    return value


def _bounded(shape: tuple[int, ...]) -> tuple[int, ...]:
    if math.prod(shape) > MAX_ELEMENTS:
        raise Refused(f"a tensor of {math.prod(shape)} elements is too large")
    return shape


def _alike(given: Any, value: Any, where: str) -> Any:
    """The value in the form of what is given in its place.  Raises Refused where it is another kind of thing."""
    if value is given:
        return value
    if isinstance(given, torch.Tensor) and isinstance(value, torch.Tensor):
        return _like_tensor(given, value, where)
    if isinstance(given, float) and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if type(given) is not type(value) or isinstance(given, torch.Tensor):
        raise Refused(f"{where}: {type(value).__name__}, where it is called with {type(given).__name__}")
    if isinstance(given, (bool, int, float, str)) or given is None:
        return value
    if isinstance(given, dict) and given.keys() == value.keys():
        return {k: _alike(v, value[k], f"{where}, {k}") for k, v in given.items()}
    if type(given) in (tuple, list) and len(given) == len(value):
        return type(given)(_alike(v, value[i], f"{where}, {i}") for i, v in enumerate(given))
    raise Refused(f"{where}: other parts than it is called with")


def _like_tensor(given: torch.Tensor, value: torch.Tensor, where: str) -> torch.Tensor:
    usual = (
        type(given) in (torch.Tensor, torch.nn.Parameter) and given.layout == torch.strided and not given.is_quantized
    )
    kinds = [(x.is_complex(), x.is_floating_point(), x.dtype == torch.bool) for x in (given, value)]
    if not usual or kinds[0] != kinds[1] or value.layout != torch.strided:
        raise Refused(f"{where}: a tensor of {value.dtype}, where it is called with {given.dtype}")
    if value.dim() != given.dim():
        raise Refused(f"{where}: a tensor of {value.dim()} dimensions, where it is called with {given.dim()}")
    made = value.detach().to(device=given.device, dtype=given.dtype).clone()
    return (
        torch.nn.Parameter(made, given.requires_grad)
        if isinstance(given, torch.nn.Parameter)
        else made.requires_grad_(given.requires_grad)
    )
