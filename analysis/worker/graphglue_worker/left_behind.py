"""What a call leaves behind beside its arguments: in the owner and in the workspace's Python modules, by name, and random state."""

import hashlib
import random
import sys
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import torch

from graphglue_worker import overlay, positions, restored, snapshot

FINGERPRINT_NODES = 20_000  # of one attribute or global; what is larger is taken for unchanged
_known: set[str] = set()  # names of Python modules that are not the workspace's
_CODE = (FunctionType, BuiltinFunctionType, ModuleType, type, torch.nn.Module)
_MODULE_OWN = frozenset(vars(torch.nn.Module())) - {"training"}


def random_state() -> dict[str, bytes]:
    drawn = repr(random.getstate())  # 625 numbers, which would be as many parts of a snapshot
    states: dict[str, Any] = {"torch's random state": torch.get_rng_state(), "Python's random state": drawn}
    numpy = sys.modules.get("numpy")
    if numpy is not None and hasattr(numpy, "random"):
        states["NumPy's random state"] = numpy.random.get_state()
    if torch.cuda.is_initialized():
        states["CUDA's random state"] = torch.cuda.get_rng_state_all()
    return {name: fingerprint(snapshot.take(state)) for name, state in states.items()}


def start() -> None:
    """Call before user code is imported: what is imported by now is not looked at."""
    _known.update(sys.modules)


def held(owner: Any) -> dict[str, bytes]:
    """Fingerprints of what the owner and its modules, and the workspace's Python modules (with what their torch modules hold) and classes hold, by
    name."""
    seen = snapshot.Run(_is_users)
    found: dict[str, bytes] = {}

    def keep(prefix: str, values: dict[str, Any], without: Any = ()) -> None:
        for name, value in values.items():
            if not (name.startswith(("__", "_graphglue")) or name in without or isinstance(value, _CODE)):
                found[f"{prefix}{name}"] = fingerprint(snapshot.take(value, seen))

    if isinstance(owner, torch.nn.Module):
        for path, module in owner.named_modules():
            keep(f"self.{path}." if path else "self.", _values_of(module), _MODULE_OWN)
    elif owner is not None and not isinstance(owner, _CODE):
        keep("self.", getattr(owner, "__dict__", {}))
    modules = _users_modules()
    for name, made in [(k, v) for k, v in _torch_modules(modules) if v is not owner]:
        for path, part in made.named_modules(prefix=name):
            small = {k: t for k, t in restored.tensors_of(part).items() if t.numel() <= restored.MOST_ELEMENTS}
            keep(f"{path}.", _values_of(part), _MODULE_OWN)
            keep(f"{path}.", {k: t.detach() for k, t in small.items()})
    for module in modules:
        keep("", vars(module))
        for cls in [v for v in vars(module).values() if isinstance(v, type) and v.__module__ == module.__name__]:
            keep(f"{cls.__qualname__}.", {k: v for k, v in vars(cls).items() if not hasattr(v, "__get__")})
    return found


def _values_of(module: torch.nn.Module) -> dict[str, Any]:
    """What a module holds by its names; of one that TorchScript runs, what the module it was made of held, and not its machinery."""
    if not isinstance(module, torch.jit.RecursiveScriptModule):
        return vars(module)
    kind = module._concrete_type
    tensors = {name for name, _ in [*module.named_parameters(recurse=False), *module.named_buffers(recurse=False)]}
    return kind.get_constants() | {name: getattr(module, name) for name in kind.get_attributes() if name not in tensors}


def _users_modules() -> list[ModuleType]:
    """The Python modules of the workspace that were imported since `start`; of an installed package those that a text is put over."""
    found = []
    for name in sorted(sys.modules.keys() - _known):
        file = getattr(sys.modules[name], "__file__", None)
        if (
            isinstance(file, str)
            and positions.origin(file) == "workspace"
            and (overlay.holds(file) or not positions.in_package(file))
        ):
            found.append(sys.modules[name])
        else:
            _known.add(name)
    return found


def _torch_modules(modules: list[ModuleType]) -> list[tuple[str, torch.nn.Module]]:
    return [(k, v) for module in modules for k, v in vars(module).items() if isinstance(v, torch.nn.Module)]


def global_modules() -> list[torch.nn.Module]:
    """The torch modules that are globals of the workspace's Python modules."""
    return [made for _, made in _torch_modules(_users_modules())]


def _is_users(kind: type) -> bool:
    """Is it a class of the workspace?  Objects of others (loggers, handles) change in ways that are nobody's result."""
    module = sys.modules.get(kind.__module__)
    return module is not None and kind.__module__ not in _known and not issubclass(kind, torch.nn.Module)


def fingerprint(value: Any) -> bytes:
    """A digest of a snapshot, so that what is held need not be kept; empty when there is too much of it."""
    digest, left, numbers = hashlib.blake2b(digest_size=16), FINGERPRINT_NODES, {}
    waiting = [value]
    while waiting:
        left -= 1
        if left < 0:
            return b""
        at = waiting.pop()
        if isinstance(at, snapshot.Leaf):
            digest.update(
                repr((at.type, at.dtype, at.shape, at.device, at.layout, at.requires_grad, at.quantized)).encode()
            )
            digest.update(at.data or at.digest)
        elif isinstance(at, snapshot.Node):
            known = numbers.get(id(at.parts))
            digest.update(repr((at.kind, known, [k for k, _ in at.parts])).encode("utf-8", "replace"))
            if known is None:
                numbers[id(at.parts)] = len(numbers)
                waiting += [part for _, part in reversed(at.parts)]
        else:
            digest.update(f"{type(at).__name__} {at!r}\0".encode("utf-8", "replace"))
    return digest.digest()
