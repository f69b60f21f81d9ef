"""Small configurations: which class a `config` parameter wants, and keyword arguments that make a model of it small.

A configuration is a class whose instances hold settings: a dataclass, or a class with `to_dict`, or one whose name ends so.  Sizes are reduced by
what their names say, all widths by the same power of two, so that what must divide still does.
"""

import dataclasses
import inspect
import re
import sys
import typing
from collections.abc import Iterator
from typing import Any

from graphglue_worker.recipes import Recipe, scalar

PARAMETER = re.compile(r"^(\w*_)?(config|cfg|conf|configuration|hparams|args|opt|options|params)$")
_CLASS = re.compile(r"(Config|Configuration|Settings|Args|Arguments|Options|Params|HParams)$")
_LAYERS = re.compile(
    r"(^|_)(num|n)_(\w+_)?(layers?|blocks)$|^(depth|layers|num_hidden_layers)$|_(layers|depth)$|^n_layers?$"
)
_NOT_LAYERS = re.compile(r"feature|skip|interval|every|indices|out_")
_WIDTH = re.compile(
    r"(hidden|emb|embed\w*|model|inner|intermediate|ffn|projection|proj|latent|rank|head|state|width|qkv|bottleneck|decoder|encoder|mlp|attention)_?"
    r"(size|dim|dims|channels|width|features)s?$|^(d_model|d_ff|d_inner|d_kv|d_head|d_embed|n_embd|n_inner|dim|hidden|width|embed_dim|embed_dims|"
    r"hidden_dim|\w+_ffn_dim|ffn_dim|head_dim|hidden_sizes|\w+_hidden_size|hidden_size)$"
)
_EXPERTS = re.compile(r"(^|_)(num|n)_(\w+_)?experts$|^experts$")
_IMAGE = re.compile(r"^(image|img|input|crop)_size$")
_HEADS = (
    "num_attention_heads",
    "num_heads",
    "n_head",
    "n_heads",
    "encoder_attention_heads",
    "nhead",
    "attention_heads",
    "heads",
)
_MAIN_WIDTHS = (
    "hidden_size",
    "d_model",
    "n_embd",
    "dim",
    "embed_dim",
    "hidden_dim",
    "width",
    "embedding_size",
    "model_dim",
    "emb_dim",
    "n_embed",
)
_LEAST_WIDTH, _LEAST_HEAD = 32, 8
_MAX_PARTS = 6
_FEW_EXPERTS = 16
_LARGEST_IMAGE = 256
_VOCABULARY = 8192


def is_config_class(cls: Any) -> bool:
    """Does a class look as if its instances hold settings?"""
    return isinstance(cls, type) and (
        dataclasses.is_dataclass(cls) or hasattr(cls, "to_dict") or bool(_CLASS.search(cls.__name__))
    )


def class_name(cls: type) -> str:
    """ "module:Class" as recipes want it."""
    return f"{cls.__module__}:{cls.__qualname__}"


def candidates(owner: type, parameter: str, annotation: Any) -> list[type]:
    """Classes that the parameter of `owner`'s constructor may want, most likely first."""
    found = [c for c in _alternatives(annotation) if is_config_class(c)]
    declared = getattr(owner, "config_class", None)
    if is_config_class(declared):
        found.insert(0 if not found else 1, declared)
    module = sys.modules.get(owner.__module__)
    near = [v for v in vars(module).values() if is_config_class(v) and not issubclass(v, dict)] if module else []
    near = [v for v in near if _defaults_suffice(v)]
    named = [c for c in near if _CLASS.search(c.__name__)]  # else any dataclass may be meant
    near = sorted(named or near, key=lambda c: -_shared(owner.__name__, c.__name__, parameter))
    return list(dict.fromkeys(c for c in [*found, *near] if _defaults_suffice(c) or c in found))


def _alternatives(annotation: Any) -> list[Any]:
    parts = typing.get_args(annotation)
    return [a for p in parts for a in _alternatives(p)] if parts else [annotation]


def _shared(owner: str, config: str, parameter: str) -> float:
    """How much two names have in common: the length of their common head, and words of the one in the other."""
    head = 0
    while head < min(len(owner), len(config)) and owner[head] == config[head]:
        head += 1
    words = set(re.findall(r"[A-Z][a-z0-9]+", config)) - {"Config"}
    wanted = set(re.findall(r"[A-Z][a-z0-9]+", owner)) | {w.capitalize() for w in parameter.split("_")}
    missing = len(words - wanted)
    return head + 3 * len(words & wanted) - missing


def _defaults_suffice(cls: type) -> bool:
    if inspect.isabstract(cls):
        return False
    try:
        parameters = inspect.signature(cls).parameters.values()
    except (TypeError, ValueError):
        return False
    return all(p.default is not p.empty or p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters)


def variants(cls: type) -> Iterator[Recipe]:
    """Recipes of configurations, the smallest first, the class's own defaults last.  Raises what its constructor raises."""
    base = cls()
    seen: list[Recipe] = []
    for less in _LESS:
        recipe = reduced(base, less)
        if recipe not in seen:
            seen.append(recipe)
            yield recipe


@dataclasses.dataclass(frozen=True)
class Less:
    """What to reduce.  `nested`: parts as objects, or as dictionaries of their arguments."""

    widths: bool = True
    layers: bool = True
    vocabulary: bool = False
    nested: str = "call"


_LESS = (
    Less(), Less(nested="dict"), Less(vocabulary=True), Less(vocabulary=True, nested="dict"),
    Less(widths=False), Less(widths=False, nested="dict"), Less(widths=False, layers=False),
)  # fmt: skip


def reduced(base: Any, less: Less, depth: int = 0) -> Recipe:
    """The call that makes a smaller one of the configuration `base`."""
    accepted = _accepted(type(base))
    values = {k: v for k in accepted if (v := _value(base, k)) is not _ABSENT}
    stages = {
        len(d) for d in accepted.values() if isinstance(d, (list, tuple))
    }  # a number of layers that has a list each is none
    factor = _factor(values) if less.widths else 1
    patch = values.get("patch_size") if isinstance(values.get("patch_size"), int) else 1
    kwargs: dict[str, Recipe] = {}
    parts = 0
    for name, value in values.items():
        if less.layers and isinstance(value, (int, list, tuple)) and not isinstance(value, bool):
            smaller = (
                _smaller(name, value, factor, patch)
                if isinstance(value, (list, tuple)) or value not in stages
                else None
            )
            if smaller is not None:
                kwargs[name] = smaller
        elif (
            is_config_class(type(value))
            and not isinstance(value, dict)
            and depth < 3
            and parts < _MAX_PARTS
            and less.layers
        ):
            parts += 1
            part = reduced(value, less, depth + 1)
            if less.nested == "dict":
                part = {"dict": [[k, v] for k, v in {**_kind(value), **part["kwargs"]}.items()]}
            kwargs[name] = part
    if less.vocabulary:
        kwargs |= _vocabulary(values)
    return {"call": class_name(type(base)), "kwargs": kwargs}


def _vocabulary(values: dict[str, Any]) -> dict[str, Recipe]:
    """A smaller vocabulary, with the special tokens inside it."""
    sizes = {n: v for n, v in values.items() if n.endswith("vocab_size") and isinstance(v, int) and v > _VOCABULARY}
    if not sizes:
        return {}
    outside = [
        n for n, v in values.items() if re.search(r"_(id|index|token)$", n) and isinstance(v, int) and v >= _VOCABULARY
    ]
    return {**dict.fromkeys(sizes, _VOCABULARY), **{n: _VOCABULARY - 1 - i for i, n in enumerate(outside)}}


_ABSENT = object()


def _value(base: Any, name: str) -> Any:
    try:
        return getattr(base, name, _ABSENT)
    except Exception:  # noqa: BLE001 - a property of somebody's
        return _ABSENT


def _kind(part: Any) -> dict[str, Recipe]:
    """What tells which class of configuration a dictionary stands for."""
    kind = getattr(part, "model_type", None)
    return {"model_type": kind} if isinstance(kind, str) and kind else {}


def _accepted(cls: type) -> dict[str, Any]:
    """Parameters of a constructor and their defaults."""
    try:
        parameters = inspect.signature(cls).parameters.values()
    except (TypeError, ValueError):
        return {}
    return {p.name: p.default for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}


def _factor(values: dict[str, Any]) -> int:
    """The power of two that all widths are divided by: the main one stays usable by its heads."""
    width = next((values[n] for n in _MAIN_WIDTHS if isinstance(values.get(n), int)), None)
    if not width:
        return 1
    heads = next((values[n] for n in _HEADS if isinstance(values.get(n), int) and values[n] > 0), 1)
    factor = 1
    while width % (factor * 2) == 0 and width // (factor * 2) >= _LEAST_WIDTH:
        smaller = width // (factor * 2)
        if smaller % heads or smaller // heads < _LEAST_HEAD:
            break
        factor *= 2
    return factor


def _smaller(name: str, value: Any, factor: int, patch: int) -> Recipe | None:
    if isinstance(value, int):
        if _IMAGE.search(name):
            return _image(value, patch) if patch else None
        if _LAYERS.search(name) and not _NOT_LAYERS.search(name):
            return 2 if value > 2 else None
        if _EXPERTS.search(name):
            return _FEW_EXPERTS if value > _FEW_EXPERTS else None
        if factor > 1 and _WIDTH.search(name) and value % factor == 0 and value // factor >= 4:
            return value // factor
        return None
    if not value or not all(isinstance(v, int) and not isinstance(v, bool) for v in value):
        return None
    if name in ("depths", "num_blocks", "layers", "layer_depths") or (name == "depth" and len(value) > 1):
        return _like(value, [min(v, 1 if len(value) > 2 else 2) for v in value])
    return None


def _image(side: int, patch: int) -> Recipe | None:
    smaller = side
    while smaller > _LARGEST_IMAGE and smaller % (2 * max(patch, 1)) == 0:
        smaller //= 2
    return smaller if smaller < side else None


def _like(value: Any, items: list[int]) -> Recipe:
    if list(value) == items:
        return None
    return {"tuple": items} if isinstance(value, tuple) else items


def literal(value: Any) -> Recipe | None:
    """A recipe of a plain value, None when it is none."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return scalar(value)
    if isinstance(value, (list, tuple)):
        items = [literal(v) for v in value]
        if all(i is not None or v is None for i, v in zip(items, value, strict=True)):
            return items if isinstance(value, list) else {"tuple": items}
    return None
