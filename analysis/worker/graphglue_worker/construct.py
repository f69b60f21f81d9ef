"""How to construct a class nobody gave arguments for: calls with plain arguments in its own file, then defaults, annotations and names.

`Constructor.attempts` yields (recipe, instance) for every way that works, the most telling first; what a failed call says steers the next.
"""

import dataclasses
import enum
import inspect
import linecache
import re
import traceback
import types
import typing
from collections.abc import Iterator
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from graphglue_worker import callsites, configs, factories
from graphglue_worker.recipes import Maker, Recipe, Unmakeable
from graphglue_worker.unwritten import Filled

WIDTH, HEADS, HEAD_DIM, LAYERS, VOCABULARY, CLASSES, IMAGE = 32, 4, 8, 2, 64, 4, 32
MAX_TRIES = 16
MAX_ELEMENTS = 80_000_000  # a module larger than this is not run
_FACTORIES = ("empty", "zeros", "ones", "full", "rand", "randn", "randint", "arange", "tril", "triu")
_NAMESPACE = "types:SimpleNamespace"
_OF_DICTIONARIES = ("get", "items", "keys", "values", "pop")
_MAX_SETTINGS = 64

# What a number is for, by its name; the first that matches.  Lists are tried in order.
_INTS: tuple[tuple[str, list[Recipe]], ...] = (
    (r"(^|_)(idx|index|layer_id|i|rank|padding_idx|level)$|^layer_(number|num)$", [0]),
    (
        r"^(in|out|inp|input|output|hid|hidden|num|n)_?(features?|planes|units|feat|hid|inp|out)$|planes$|units$",
        [WIDTH],
    ),
    (r"(num|n)_?(attention_)?heads?$|^heads?$|^nhead$|kv_heads?$|num_key_value|groups$|^num_groups$", [HEADS, 1, 2, 8]),
    (r"head_dim|dim_head|head_size|key_dim|dim_keys?$", [HEAD_DIM, WIDTH]),
    (r"(num|n)_?(\w+_)?(layers?|blocks?|stages?)$|^(depth|layers|blocks|num_layers)$|repeat", [LAYERS, 1, 3]),
    (r"vocab|num_embeddings|num_tokens|ntokens?|n_token|input_vocab", [VOCABULARY]),
    (r"class|labels?$|^num_(out|targets)|n_outputs?$|^k$", [CLASSES]),
    (r"kernel", [3, 1, {"tuple": [3, 3]}]),
    (r"strides?$", [1, 2, {"tuple": [1, 1]}]),
    (r"padding|pad$", [1, 0]),
    (r"dilation", [1, 2]),
    (r"patch", [4, {"tuple": [4, 4]}, 8]),
    (r"window", [4, {"tuple": [4, 4]}, 8]),
    (r"resolution|grid|input_size_2d|spatial_(size|shape)", [{"tuple": [8, 8]}, 8]),
    (
        r"(image|img)_?(size|dim)|^(height|width|h|w|size)$|image_(height|width)",
        [IMAGE, {"tuple": [IMAGE, IMAGE]}, 224, 240, 256],
    ),
    (r"in_chans|image_channels|^num_channels$|img_channels", [3, WIDTH]),
    (
        r"(max|seq|context|block|num|n)_?\w*(len|length|size|positions?|patches|frames|position_embeddings)$",
        [VOCABULARY, 16, 8],
    ),
    (r"experts|top_?k|n_?points|num_?levels|codebook|num_queries|n_levels|num_buckets|n$", [4, 2, 8]),
    (r"factor|ratio|expan|mult|scale|reduction", [2, 4, 1]),
    (r"steps|iters|^t$", [4, 2]),
    (r"(dim|dims|channels|features?|size|width|hidden|embed\w*|ch)$", [WIDTH]),
    (r"cutoff", [[8, 16], 8]),
)
_FLOATS = r"drop|prob|^p$|rate|eps|epsilon|gamma|beta|alpha|temperature|momentum|std|scal|theta|base|margin|tau|smooth"
_FLOAT_VALUES: tuple[tuple[str, float], ...] = (
    (r"eps", 1e-5),
    (r"momentum", 0.1),
    (r"drop|prob|^p$|smooth", 0.0),
    (r"theta|base", 10000.0),
    (r"", 1.0),
)
_LISTS = r"(sizes|widths|kernels|ratios|shapes?|list)$"
_ACTIVATION = r"activation|act_fn|hidden_act|(^|_)act$|nonlinearity|act_func"
_NORM = r"norm_layer|norm_cls|norm_type|normalization"


class _Budget(TorchFunctionMode):
    """Refuses a module whose parameters and buffers would be too many, before they are filled."""

    def __init__(self) -> None:
        super().__init__()
        self.elements = 0

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        if isinstance(out, torch.Tensor) and getattr(func, "__name__", "") in _FACTORIES:
            self.elements += out.numel()
            if self.elements > MAX_ELEMENTS:
                raise Unmakeable(f"it has more than {MAX_ELEMENTS // 1_000_000} million parameters, too many to try")
        return out


class Constructor:
    """Ways to construct `cls`.  `home`: the module of its file."""

    def __init__(self, cls: type, home: types.ModuleType | None) -> None:
        self.cls = cls
        self.home = home
        self.maker = Maker(home)
        self.errors: list[str] = []
        self.error: BaseException = Exception()
        self.tries = 0
        self.parameters, self.annotations = parameters_of(cls)

    def attempts(self) -> Iterator[tuple[Recipe, Any]]:
        """Each way that works, with an instance.  What did not is told in `errors`."""
        seen: list[Recipe] = []
        for recipe in self._recipes():
            if recipe in seen:
                continue
            seen.append(recipe)
            if isinstance(self.error, ImportError):  # something is not installed: no arguments help
                return
            instance = self.build(recipe)
            if instance is not None:
                yield recipe, instance

    def build(self, recipe: Recipe) -> Any:
        """An instance, or None with a reason in `errors`."""
        try:
            torch.manual_seed(0)
            with _Budget(), Filled(0):
                return self.maker.make(recipe).eval()
        except MemoryError:
            raise
        except Exception as e:  # noqa: BLE001 - user code
            self.error = e
            self.errors.append(describe(e))
            return None

    def settings(self, recipe: Recipe) -> dict[str, Any]:
        """What a recipe gives the constructor, and the defaults of the rest, by name."""
        defaults = {p.name: p.default for p in self.parameters if p.default is not p.empty}
        given = zip((p.name for p in self.parameters), recipe.get("args", ()), strict=False)
        read = {
            k: v.get("tuple", v) if isinstance(v, dict) else v for k, v in [*given, *recipe.get("kwargs", {}).items()]
        }
        return {**defaults, **read}

    def _recipes(self) -> Iterator[Recipe]:
        name = (
            ":" + self.cls.__qualname__
            if self.home and self.cls.__module__ == self.home.__name__
            else configs.class_name(self.cls)
        )
        yield from callsites.constructor_calls(self.cls, self.home, name)
        if any(p.default is p.empty for p in self.parameters):
            with _Budget():
                made = list(factories.constructor_calls(self.cls, self.home, name))
            yield from made
        config = next((p for p in self.parameters if self._wants_config(p)), None)
        if config is None:
            yield from self._with(name, {}, None)
            return
        classes = configs.candidates(self.cls, config.name, self.annotations.get(config.name))
        for cls in classes[:4]:
            for recipe in self._variants(cls):
                try:
                    made = self.maker.make(recipe)
                except Exception as e:  # noqa: BLE001 - a configuration that cannot be made
                    self.errors.append(f"{cls.__name__}: {describe(e)}")
                    continue
                yield from self._with(name, {config.name: recipe}, made)
        if not classes:
            yield from self._with_namespace(name, config.name)

    def _variants(self, cls: type) -> Iterator[Recipe]:
        try:
            yield from configs.variants(cls)
        except Exception as e:  # noqa: BLE001 - its defaults are no valid configuration
            self.errors.append(f"{cls.__name__}: {describe(e)}")

    def _wants_config(self, p: inspect.Parameter) -> bool:
        annotation = self.annotations.get(p.name)
        return p.default is p.empty and (bool(configs.PARAMETER.match(p.name)) or any(
            configs.is_config_class(a) and not issubclass(a, torch.nn.Module) for a in configs._alternatives(annotation) if isinstance(a, type)
        ))  # fmt: skip

    def _with(self, name: str, given: dict[str, Recipe], config: Any) -> Iterator[Recipe]:
        """Calls with `given` and guesses for what else is required; while calls fail, the guess that the failure points at is changed."""
        required = [p for p in self.parameters if p.default is p.empty and p.name not in given]
        choices = {p.name: self._guesses(p, config) for p in required}
        at = dict.fromkeys(choices, 0)
        for _ in range(MAX_TRIES if choices else 1):
            kwargs = {
                p.name: given.get(p.name) if p.name in given else choices[p.name][at[p.name]]
                for p in [*self.parameters]
                if p.name in given or p.name in choices
            }
            positional = [p.name for p in self.parameters if p.kind is p.POSITIONAL_ONLY]
            before = len(self.errors)
            yield {"call": name, "args": [kwargs.pop(n) for n in positional if n in kwargs], "kwargs": kwargs}
            if len(self.errors) == before:
                return
            left = [n for n in choices if at[n] + 1 < len(choices[n])]
            if not left:
                return
            at[self._blamed(left)] += 1

    def _blamed(self, names: list[str]) -> str:
        """The parameter that the last error is most likely about."""
        error = self.error
        said = str(error)
        frames = [
            f
            for f in traceback.walk_tb(error.__traceback__)
            if f[0].f_code.co_name == "__init__" and isinstance(f[0].f_locals.get("self"), self.cls)
        ]
        line = linecache.getline(frames[0][0].f_code.co_filename, frames[0][1]) if frames else ""
        for text in (said, line):
            for name in names:
                if re.search(rf"\b{re.escape(name)}\b", text):
                    return name
        return names[0]

    def _with_namespace(self, name: str, parameter: str) -> Iterator[Recipe]:
        """No class for the configuration is known: an object, or a dictionary, that gets each setting asked for."""
        held: dict[str, Recipe] = {}
        keyed = False
        for _ in range(_MAX_SETTINGS):
            recipe = (
                {"dict": [[k, v] for k, v in held.items()]} if keyed else {"call": _NAMESPACE, "kwargs": dict(held)}
            )
            before = len(self.errors)
            yield from self._with(name, {parameter: recipe}, None)
            if len(self.errors) == before:
                return
            said = str(self.error)
            missing = re.search(r"SimpleNamespace' object has no attribute '(\w+)'", said)
            if isinstance(self.error, KeyError) and keyed and self.error.args:
                wanted = str(self.error.args[0])
            elif "SimpleNamespace' object is not subscriptable" in said or (missing and missing[1] in _OF_DICTIONARIES):
                keyed = True
                continue
            else:
                wanted = missing[1] if missing else ""
            if not wanted or wanted in held:
                return
            held[wanted] = by_name(wanted, None)[0]

    def with_setting(self, recipe: Recipe, setting: str) -> tuple[Recipe, Any] | None:
        """The recipe with one more setting in the object that stands for its configuration, and an instance."""
        for name, value in recipe["kwargs"].items():
            if isinstance(value, dict) and value.get("call") == _NAMESPACE and len(value["kwargs"]) < _MAX_SETTINGS:
                held = {**value["kwargs"], setting: by_name(setting, None)[0]}
                more = {**recipe, "kwargs": {**recipe["kwargs"], name: {**value, "kwargs": held}}}
                instance = self.build(more)
                return (more, instance) if instance is not None else None
        return None

    def _guesses(self, p: inspect.Parameter, config: Any) -> list[Recipe]:
        guesses = by_name(p.name, self.annotations.get(p.name))
        if config is not None and (value := from_config(config, p.name)) is not None:
            guesses = [value, *(g for g in guesses if g != value)]
        return guesses


def from_config(config: Any, name: str) -> Recipe | None:
    """The setting that a parameter of this name most likely gets."""
    aliases = {
        "dim": ("hidden_size", "d_model", "embed_dim", "n_embd", "hidden_sizes", "embed_dims"),
        "num_heads": ("num_attention_heads", "num_heads", "n_head", "encoder_attention_heads"),
        "channels": ("num_channels", "hidden_size"),
        "width": ("hidden_size", "embed_dim"),
    }
    kinds = {
        "dim": r"dim$|^d_model$|hidden_size$|embedding_dim|channels$|features$|_size$|^width$|dims$",
        "num_heads": r"heads?$",
    }
    tried = [name]
    if not re.search(r"kernel|stride|pad|window|patch|image|img|grid|vocab|num_", name) or name in (
        "num_heads",
        "num_attention_heads",
    ):
        tried += next((aliases[k] for k, pattern in kinds.items() if re.search(pattern, name)), ())
    for attribute in tried:
        try:
            value = getattr(config, attribute, None)
        except Exception:  # noqa: BLE001 - a property of somebody's
            continue
        if isinstance(value, (list, tuple)) and attribute != name and value and isinstance(value[0], int):
            value = value[0]
        if value is not None and (found := configs.literal(value)) is not None:
            return found
    return None


def by_name(name: str, annotation: Any) -> list[Recipe]:
    """Values for a required parameter, most likely first; never empty."""
    typed = by_annotation(annotation, name)
    named = _named(name)
    if typed is None:
        return named
    kinds = {type(t) for t in typed if not isinstance(t, dict)}
    fitting = [
        n
        for n in named
        if (type(n) in kinds)
        or (isinstance(n, dict) and any(isinstance(t, dict) and t.keys() == n.keys() for t in typed))
    ]
    return [*fitting, *(t for t in typed if t not in fitting)] or named


def _named(name: str) -> list[Recipe]:
    if re.search(_ACTIVATION, name):
        return ["gelu", {"call": "torch.nn:GELU"}, {"global": "torch.nn:GELU"}]
    if re.search(_NORM, name):
        return [{"global": "torch.nn:LayerNorm"}, "layer_norm"]
    if re.search(
        r"^(use|has|is|with|do|add|enable|return|norm_first|pre_norm|causal|bias$|batch_first|learn|train|share|tie)",
        name,
    ):
        return [True, False]
    if re.search(_FLOATS, name) and not re.search(r"num|kernel|size", name):
        return [next(v for pattern, v in _FLOAT_VALUES if re.search(pattern, name)), 1]
    for pattern, values in _INTS:
        if re.search(pattern, name):
            one = values[0]
            return [*values, [one, one]] if isinstance(one, int) else list(values)
    if re.search(_LISTS, name):
        return [[WIDTH, WIDTH], WIDTH, {"tuple": [WIDTH, WIDTH]}]
    if re.search(r"module|model|layer|block|fn$|net$|encoder|decoder|backbone|head$", name):
        return [{"call": "torch.nn:Identity"}, None]
    if re.search(r"downsample|sampler|default|name$|mask|mode$|type$", name):
        return [None, "none", False]
    return [WIDTH, {"tuple": [WIDTH, WIDTH]}, None, 1.0, "none"]


def by_annotation(annotation: Any, name: str) -> list[Recipe] | None:
    """Values that the annotation allows, None when it says nothing."""
    if annotation is None or annotation is Any or annotation is inspect.Parameter.empty:
        return None
    origin, parts = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Literal:
        return list(parts)
    if origin in (typing.Union, types.UnionType):
        some = [v for p in parts if p is not type(None) for v in by_annotation(p, name) or []]
        return some + ([None] if type(None) in parts else []) or None
    if origin is type:
        return [{"global": configs.class_name(parts[0])}] if parts and isinstance(parts[0], type) else None
    if origin in (list, tuple) or annotation in (list, tuple):
        inner = [p for p in parts if p is not Ellipsis]
        of = by_name(name, inner[0])[0] if inner else WIDTH
        size = len(inner) if origin is tuple and Ellipsis not in parts and inner else 2
        return [[of] * size if (origin or annotation) is list else {"tuple": [of] * size}]
    simple: dict[Any, list[Recipe]] = {
        int: [v for v in _named(name) if isinstance(v, int) and not isinstance(v, bool)] or [WIDTH],
        float: [next(v for pattern, v in _FLOAT_VALUES if re.search(pattern, name)), 1.0],
        bool: [False, True], str: ["gelu"] if re.search(_ACTIVATION, name) else ["none", "relu"],
        torch.Tensor: [{"tensor": {"shape": [WIDTH], "dtype": "float32", "fill": "normal"}}],
        torch.device: [{"device": "cpu"}], torch.dtype: [{"dtype": "float32"}],
    }  # fmt: skip
    if annotation in simple:
        return simple[annotation]
    if isinstance(annotation, type) and issubclass(annotation, enum.Enum) and len(annotation):
        return [{"global": f"{configs.class_name(annotation)}.{next(iter(annotation)).name}"}]
    if isinstance(annotation, type) and issubclass(annotation, torch.nn.Module):
        return [{"call": "torch.nn:Identity"}]
    if dataclasses.is_dataclass(annotation):
        fields = [f for f in dataclasses.fields(annotation) if f.default is f.default_factory is dataclasses.MISSING]
        hints = annotations_of(annotation)
        return [
            {
                "call": configs.class_name(annotation),
                "kwargs": {f.name: by_name(f.name, hints.get(f.name))[0] for f in fields},
            }
        ]
    return None


def parameters_of(cls: type) -> tuple[list[inspect.Parameter], dict[str, Any]]:
    """Parameters of a constructor and their annotations; one that takes anything passes it on to the next class's."""
    for base in cls.__mro__:
        init = vars(base).get("__init__")
        if init is None or base is object:
            continue
        try:
            everything = list(inspect.signature(init).parameters.values())[1:]
        except (TypeError, ValueError):
            return [], {}
        named = [p for p in everything if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
        if named or not everything or base is torch.nn.Module:
            return named, annotations_of(init)
    return [], {}


def annotations_of(cls: Any) -> dict[str, Any]:
    """Annotations of a constructor, resolved where they can be."""
    target = cls.__init__ if isinstance(cls, type) else cls  # type: ignore[misc]
    try:
        return typing.get_type_hints(target)
    except Exception:  # noqa: BLE001 - names that exist for type checkers only
        found = dict(getattr(inspect.unwrap(target), "__annotations__", {}))
        scope = getattr(inspect.unwrap(target), "__globals__", {})
        for name, annotation in found.items():
            if isinstance(annotation, str):
                try:
                    found[name] = eval(annotation, scope)  # noqa: S307 - the user's own annotation, in a file that is being run
                except Exception:  # noqa: BLE001
                    found[name] = None
        return found


def describe(e: BaseException) -> str:
    """One line: type and the first line of the message."""
    lines = [line.strip() for line in str(e).strip().splitlines() if line.strip()]
    return f"{type(e).__name__}: {lines[0][:200]}" if lines else type(e).__name__


__all__ = ["Constructor", "Unmakeable", "by_name", "describe", "from_config"]
