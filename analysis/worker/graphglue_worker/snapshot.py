"""Results as plain values, so that those of two processes can be compared without the user's classes.

A *snapshot* is a tree of numbers and strings, ``Leaf`` (a tensor) and ``Node`` (a container or an object).  What it holds is all that
the code that called can see without asking for an address:

- tensors: type, dtype, shape, device, layout, strides of dimensions longer than one, whether they require gradients, every element bit
  for bit (but all NaN are alike), and which earlier tensor of the same run shares their memory;
- containers and objects: type, parts in order, and whether they are the same object as an earlier one of the same run;
- iterators of Python's own are drained, a bounded number of items.

Beyond ``KEEP_BYTES`` a tensor keeps a digest and a sample of its elements.  Sharing and cycles are kept; nesting deeper than ``MAX_DEPTH``
cannot be compared and is never equal to anything.
"""

import ctypes
import dataclasses
import enum
import hashlib
import sys
import warnings
from collections import deque
from collections.abc import Callable, ItemsView, KeysView, Mapping, Set, ValuesView
from dataclasses import dataclass
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

import torch

MAX_DEPTH = 100
MAX_ITEMS = 10_000  # taken from an iterator
KEEP_BYTES = 16 << 20  # of one tensor
SAMPLE = 1 << 16  # elements kept of a larger one
SHARED_BYTES, MOST_SHARED_BYTES = 1 << 12, 64 << 20  # from here on equal elements are kept once, and that many in all
OVERLAP_ELEMENTS = 1 << 16  # up to here two views are compared element by element for shared memory
TOO_DEEP, UNREADABLE = "something nested too deeply", "a tensor that cannot be read"  # kinds that are equal to nothing
_SPARSE = {
    torch.sparse_coo: ("indices",),
    torch.sparse_csr: ("crow_indices", "col_indices"),
    torch.sparse_csc: ("ccol_indices", "row_indices"),
}
_UNCHANGING = (tuple, frozenset, enum.Enum, int, float, complex, str, bytes)  # who is who does not show
_EXACT = (type(None), bool, int, float, complex, str, bytes, type(...), type(NotImplemented))
_NAMED = (FunctionType, BuiltinFunctionType, MethodType, ModuleType, type)
_LIBRARY = frozenset((*sys.stdlib_module_names, "builtins", "torch"))
_shared: dict[bytes, bytes] = {}  # parameters, as a rule, which are the same in most runs


@dataclass(slots=True)
class Leaf:
    """A tensor.  `data`: canonical bytes in row-major order; when it is larger than what is kept, `digest` and `sample` (evenly spaced)."""

    type: str
    dtype: torch.dtype
    shape: tuple[int, ...]
    device: str
    layout: str
    strides: tuple[int, ...]
    requires_grad: bool
    alias: int | None  # the number of the first tensor of the run that shares its memory
    data: bytes | None
    digest: bytes = b""
    sample: bytes = b""
    quantized: tuple[Any, ...] = ()
    number: int = 0  # its own, in the order they were seen in the run

    def elements(self) -> torch.Tensor | None:
        """The elements, flat (a sample of a large tensor); None when there are none."""
        data = self.sample if self.data is None else self.data
        return torch.frombuffer(bytearray(data), dtype=self.dtype) if data else None


@dataclass(slots=True)
class Node:
    """A container or an object.  `parts`: (key, snapshot).  `alias`: the number of the earlier object of the run that this one is (then the
    parts are that one's, the list itself)."""

    kind: str
    parts: list[tuple[str, Any]]
    alias: int | None = None

    @property
    def comparable(self) -> bool:
        """Is all of it there?"""
        return self.kind not in (TOO_DEEP, UNREADABLE)


class Run:
    """What was seen so far in one run: tensors by storage, objects by identity.  Keeps them alive, so that addresses stay theirs.

    `opens`: of which classes objects are looked into; all when None."""

    def __init__(self, opens: Callable[[type], bool] | None = None) -> None:
        self.opens = opens
        self.seen: dict[int, tuple[int, Node, Any]] = {}  # by address: number, node, and the object to keep it alive
        self._places: dict[tuple[str, int], list[tuple[int, torch.Tensor]]] = {}
        self.count = 0  # tensors seen

    def tensor(self, value: torch.Tensor) -> int | None:
        """The number of the first tensor seen that shares memory with this one."""
        self.count += 1
        try:
            storage = value.untyped_storage()
            key = (str(storage.device), storage.data_ptr())
        except (RuntimeError, NotImplementedError):  # it has none
            return None
        if not key[1] or value.numel() == 0:
            return None
        plain = value.detach()
        known = self._places.setdefault(key, [])
        found = next((number for number, other in known if _overlap(other, plain)), None)
        known.append((self.count, plain))
        return found


def _overlap(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Do two tensors of one storage have an element in common?"""
    if (a.storage_offset(), a.shape, a.stride()) == (b.storage_offset(), b.shape, b.stride()):
        return True
    first, second = (_extent(t) for t in (a, b))
    if first[1] <= second[0] or second[1] <= first[0]:
        return False
    if max(a.numel(), b.numel()) > OVERLAP_ELEMENTS:
        return True  # not looked at closely: views of one base
    return bool(torch.isin(_places(a), _places(b)).any())


def _extent(t: torch.Tensor) -> tuple[int, int]:
    start = t.storage_offset() * t.element_size()
    last = sum((size - 1) * stride for size, stride in zip(t.shape, t.stride(), strict=True))
    return start, start + (last + 1) * t.element_size()


def _places(t: torch.Tensor) -> torch.Tensor:
    """Byte offset of each element's start."""
    at = torch.tensor(t.storage_offset())
    for i, (size, stride) in enumerate(zip(t.shape, t.stride(), strict=True)):
        at = at.unsqueeze(-1) + torch.arange(size).mul(stride) if i else at + torch.arange(size).mul(stride)
    return at.reshape(-1) * t.element_size()


def take(value: Any, run: Run | None = None) -> Any:
    """The snapshot of a result.  `run`: what else this run returned or was given, whose memory and objects it may share."""
    return _take(value, run or Run(), 0)


def _take(value: Any, run: Run, depth: int) -> Any:
    if type(value) in _EXACT:
        return value
    if isinstance(value, torch.Tensor):
        return _tensor(value, run, depth)
    if isinstance(value, (torch.dtype, torch.device, torch.layout, torch.memory_format)):
        return str(value)
    if isinstance(value, _NAMED):
        return Node(type(value).__name__, [("name", getattr(value, "__qualname__", None) or value.__name__)])
    if depth > MAX_DEPTH:
        return Node(TOO_DEEP, [])
    if id(value) in run.seen:
        number, node, _ = run.seen[id(value)]
        return node if isinstance(value, _UNCHANGING) else Node(node.kind, node.parts, number)
    node = Node(type(value).__qualname__, [])
    run.seen[id(value)] = (len(run.seen), node, value)
    node.parts += [(key, _take(part, run, depth + 1)) for key, part in _parts(value, node, run)]
    return node


def _parts(value: Any, node: Node, run: Run) -> list[tuple[str, Any]]:
    """Keys and parts of a container or an object; may refine the node's kind."""
    if isinstance(value, enum.Enum):
        return [("name", value.name)]
    if type(value).__module__.partition(".")[0] == "numpy":
        return _numpy(value, node)
    if isinstance(value, Mapping):
        return [(_key(k, i), v) for i, (k, v) in enumerate(value.items())]
    if isinstance(value, (list, tuple, deque)):
        return [*((str(i), v) for i, v in enumerate(value)), *_attributes(value)]
    if isinstance(value, (Set, KeysView)):
        return [(str(i), v) for i, v in enumerate(sorted(value, key=lambda v: repr(take(v))))]
    if isinstance(value, (ValuesView, ItemsView)):
        return [(str(i), v) for i, v in enumerate(value)]
    for base in (bool, int, float, complex, str, bytes):
        if isinstance(value, base):
            return [("value", base(value)), *_attributes(value)]
    if hasattr(value, "__next__") and type(value).__module__ in ("builtins", "itertools"):
        return _drain(value)
    if run.opens and not run.opens(type(value)):
        return []
    found = _attributes(value)
    if not found and type(value).__module__.partition(".")[0] in _LIBRARY:
        text = repr(value)
        return [("value", text)] if " at 0x" not in text else []
    return found


def _key(key: Any, position: int) -> str:
    simple = type(key) in _EXACT or isinstance(key, (enum.Enum, torch.dtype, torch.device))
    if simple or (type(key) is tuple and all(type(k) in _EXACT for k in key)):
        return repr(key)
    return f"{getattr(key, '__qualname__', None) or type(key).__qualname__} {position}"


def _attributes(value: Any) -> list[tuple[str, Any]]:
    """What an object holds, by name: its dictionary and its slots."""
    held = dict(getattr(value, "__dict__", None) or {})
    for cls in type(value).__mro__:
        slots = cls.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if not name.startswith("__") and name not in held and hasattr(value, name):
                held[name] = getattr(value, name)
    if dataclasses.is_dataclass(value):
        names = [f.name for f in dataclasses.fields(value) if f.name in held]
        held = {n: held[n] for n in (*names, *(n for n in held if n not in names))}
    return [(k, v) for k, v in held.items() if not str(k).startswith("_graphglue")]


def _drain(iterator: Any) -> list[tuple[str, Any]]:
    parts: list[tuple[str, Any]] = []
    try:
        for i, item in enumerate(iterator):
            if i >= MAX_ITEMS:
                return [*parts, ("more", True)]
            parts.append((str(i), item))
    except Exception as e:  # noqa: BLE001 - user code: a generator's
        parts.append(("raises", f"{type(e).__name__}: {e}"))
    return parts


def _numpy(value: Any, node: Node) -> list[tuple[str, Any]]:
    """An array or a scalar of NumPy: dtype, shape, and elements as a tensor where torch has the dtype."""
    dtype = getattr(value, "dtype", None)
    if dtype is None or not hasattr(value, "shape"):
        return _attributes(value)
    node.kind = f"numpy {'array' if type(value).__name__ == 'ndarray' else 'scalar'}"
    described = [("dtype", str(dtype)), ("shape", tuple(value.shape))]
    if dtype.hasobject:
        return [*described, ("elements", value.tolist())]
    try:
        writable = not hasattr(value, "flags") or value.flags.writeable  # torch warns of what it could change
        return [*described, ("elements", torch.as_tensor(value if writable else value.copy()))]
    except (TypeError, ValueError, RuntimeError):
        return [*described, ("elements", value.tobytes())]


def _tensor(value: torch.Tensor, run: Run, depth: int) -> Any:
    try:
        with torch._C.DisableTorchFunctionSubclass(), torch.no_grad():
            if value.layout == torch.strided and not value.is_nested and not hasattr(value, "__tensor_flatten__"):
                return _leaf(value, type(value).__qualname__, run)
            with warnings.catch_warnings():  # torch announces the future of some
                warnings.simplefilter("ignore")
                return _open(value, run, depth)
    except (
        RuntimeError,
        NotImplementedError,
        TypeError,
        AttributeError,
    ):  # a kind of tensor that does not show its elements
        return Node(UNREADABLE, [])


def _open(value: torch.Tensor, run: Run, depth: int) -> Any:
    kind, about = type(value).__qualname__, [("requires_grad", value.requires_grad)]
    parts: list[tuple[str, Any]]
    if value.is_nested:
        parts = [(str(i), t) for i, t in enumerate(value.unbind())]
        kind = f"nested {kind}"
    elif value.layout in _SPARSE:
        held = value.coalesce() if value.layout == torch.sparse_coo else value
        parts = [("shape", tuple(value.shape))]
        parts += [(name, getattr(held, name)()) for name in (*_SPARSE[value.layout], "values")]
        kind = f"{value.layout} {kind}"
    elif hasattr(value, "__tensor_flatten__"):
        names, context = value.__tensor_flatten__()
        parts = [*((name, getattr(value, name)) for name in names), ("context", repr(context))]
    else:
        return _leaf(value, kind, run)
    return Node(kind, [(k, _take(v, run, depth + 1)) for k, v in (*about, *parts)])


def _leaf(value: torch.Tensor, kind: str, run: Run) -> Leaf:
    alias = run.tensor(value)
    number = run.count
    plain, quantized = value.detach(), ()
    strides = plain.stride() if plain.layout == torch.strided else ()
    if plain.is_quantized:
        quantized = _quantization(plain)
        plain = plain.int_repr()
    if plain.layout != torch.strided:
        plain = plain.to_dense()
    leaf = Leaf(
        kind,
        plain.dtype,
        tuple(value.shape),
        str(value.device),
        str(value.layout),
        tuple(st for n, st in zip(value.shape, strides, strict=False) if n > 1) if value.numel() else (),
        value.requires_grad,
        alias,
        None,
        quantized=quantized,
        number=number,
    )
    if value.device.type == "meta":
        leaf.data = b""
        return leaf
    flat = _canonical(plain.cpu())
    if flat.numel() * flat.element_size() <= KEEP_BYTES:
        leaf.data = _once(_bytes(flat))
        return leaf
    leaf.digest = hashlib.blake2b(_buffer(flat)).digest()
    leaf.sample = _bytes(flat[:: flat.numel() // SAMPLE].contiguous())
    return leaf


def _once(data: bytes) -> bytes:
    """Equal bytes that were kept before, else these: pickled together they are written once (streams.py)."""
    if len(data) < SHARED_BYTES:
        return data
    if data not in _shared and sum(map(len, _shared)) + len(data) > MOST_SHARED_BYTES:
        _shared.clear()
    return _shared.setdefault(data, data)


def _quantization(tensor: torch.Tensor) -> tuple[Any, ...]:
    scheme = tensor.qscheme()
    if scheme in (torch.per_tensor_affine, torch.per_tensor_symmetric):
        return str(scheme), tensor.q_scale(), tensor.q_zero_point()
    return (
        str(scheme),
        tensor.q_per_channel_scales().tolist(),
        tensor.q_per_channel_zero_points().tolist(),
        tensor.q_per_channel_axis(),
    )


def _canonical(tensor: torch.Tensor) -> torch.Tensor:
    """Elements in row-major order, flat, with one NaN for all."""
    flat = tensor.resolve_conj().resolve_neg().contiguous().reshape(-1)
    real = torch.view_as_real(flat).reshape(-1) if flat.is_complex() else flat
    if real.is_floating_point() and real.numel() and real.element_size() > 1:
        unordered = real != real
        if bool(unordered.any()):
            real = real.masked_fill(unordered, float("nan"))
            flat = torch.view_as_complex(real.reshape(-1, 2)) if flat.is_complex() else real
    return flat


def _buffer(flat: torch.Tensor) -> Any:
    """The memory of a contiguous tensor on the CPU; valid as long as the tensor is.  NumPy may not be there."""
    return (ctypes.c_char * (flat.numel() * flat.element_size())).from_address(flat.data_ptr()) if flat.numel() else b""


def _bytes(flat: torch.Tensor) -> bytes:
    return bytes(_buffer(flat))
