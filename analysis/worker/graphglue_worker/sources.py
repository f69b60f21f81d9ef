"""Recipes as Python source: the calls a person would write."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from graphglue_worker import layout, tensors
from graphglue_worker.layout import Group, Node
from graphglue_worker.recipes import Recipe


class Unwritable(Exception):
    """A recipe that is no plain code; the text says what."""


@dataclass
class Given:
    """What an entry is called with, as recipes.

    Only for code, besides those of recipes.py: {"eval": recipe}, {"to": {"device", "dtype"}, "of": recipe}, {"text": length},
    {"from": "module:Class", "values": recipe} (its ``from_dict``),
    {"partial": recipe, "args", "kwargs"}, {"ndarray": recipe}, {"range": […]}.
    """

    fn: Recipe
    args: list[Recipe]
    kwargs: dict[str, Recipe]
    grad: bool = False  # it runs with gradients: which tensors require them matters
    notes: list[str] = field(default_factory=list)  # what the code does not say as it was


class Writer:
    """Writes recipes for the file whose module is `home`, briefly: for people to read."""

    grad = True

    def __init__(self, home: str) -> None:
        self.home = home

    def text(self, recipe: Recipe) -> str:
        """An expression on one line.  Raises Unwritable."""
        return layout.flat(self.node(recipe))

    def node(self, recipe: Recipe) -> Node:
        """An expression.  Raises Unwritable."""
        if isinstance(recipe, list):
            return Group("[", self.nodes(recipe), "]")
        if isinstance(recipe, str):
            return self.string(recipe)
        if not isinstance(recipe, dict):
            return repr(recipe)
        for key, write in _WRITE.items():
            if key in recipe:
                return write(self, recipe)
        raise Unwritable(f"a value ({', '.join(sorted(recipe))}) that has no plain expression")

    def nodes(self, recipes: Iterable[Recipe]) -> list[Node]:
        return [self.node(r) for r in recipes]

    def call(self, callee: str, args: Iterable[Recipe], kwargs: dict[str, Recipe]) -> Group:
        """callee(args, kwargs)"""
        items = self.nodes(args)
        for name, value in kwargs.items():
            if not name.isidentifier():
                raise Unwritable(f"an argument named {name!r}")
            items.append(layout.before(f"{name}=", self.node(value)))
        return Group(f"{callee}(", items, ")")

    # -- what a writer for a file does otherwise

    def string(self, value: str) -> str:
        return repr(value)

    def name(self, name: str) -> str:
        """What "module:qualified.name" is called."""
        module, _, path = name.partition(":")
        if "<" in path:
            raise Unwritable(f"{path}, which has no name outside the function it is defined in")
        return f"{module}.{path}" if module == "torch" or module.startswith("torch.") else path

    def torch(self) -> str:
        """What the module torch is called."""
        return "torch"

    def kept(self, number: int, value: Recipe) -> Node:
        """A value that stands in several places."""
        return self.node(value)

    def again(self, number: int) -> Node:
        """One that was written before."""
        return "…"

    def instance(self, recipe: Recipe) -> Node:
        """An object by its attributes."""
        return f"{self.name(recipe['state'])}(…)"

    # -- the kinds of recipes

    def _call(self, recipe: Recipe) -> Node:
        if recipe.get("set"):
            raise Unwritable("a value that is changed after it was made")
        return self.call(self.name(recipe["call"]), recipe.get("args", ()), recipe.get("kwargs", {}))

    def _part(self, recipe: Recipe) -> Node:
        node = self.node(recipe["of"])
        for part in recipe["attr"].split(".") if recipe["attr"] else ():
            node = layout.behind(node, f"[{part}]" if part.isdigit() else f".{part}")
        return node

    def _moved(self, recipe: Recipe) -> Node:
        device, dtype = recipe["to"]["device"], recipe["to"]["dtype"]
        where = [self.string(device)] if device else []
        kind = [f"{self.torch()}.{dtype}"] if dtype else []
        return layout.behind(self.node(recipe["of"]), f".to({', '.join([*where, *kind])})")

    def _tensor(self, recipe: Recipe) -> Node:
        if recipe["tensor"]["fill"] == "blob":
            raise Unwritable("a tensor whose values are kept in a file")
        self.torch()
        return tensors.source(recipe["tensor"], self.grad)

    def _dict(self, recipe: Recipe) -> Node:
        return Group("{", [layout.before(f"{self.text(k)}: ", self.node(v)) for k, v in recipe["dict"]], "}")

    def _partial(self, recipe: Recipe) -> Node:
        return self.call(
            self.name("functools:partial"), [recipe["partial"], *recipe.get("args", ())], recipe.get("kwargs", {})
        )


def _joined(values: list[Any]) -> str:
    return ", ".join(map(repr, values))


_WRITE = {
    "tensor": Writer._tensor,
    "tuple": lambda w, r: Group("(", w.nodes(r["tuple"]), ")", pair=True),
    "dict": Writer._dict,
    "set": lambda w, r: Group("{", w.nodes(r["set"]), "}") if r["set"] else "set()",
    "size": lambda w, r: f"{w.torch()}.Size({r['size']!r})",
    "float": lambda w, r: f"float({w.string(r['float'])})",
    "complex": lambda w, r: f"complex({_joined(r['complex'])})",
    "slice": lambda w, r: Group("slice(", w.nodes(r["slice"]), ")"),
    "range": lambda w, r: f"range({_joined(r['range'])})",
    "dtype": lambda w, r: f"{w.torch()}.{r['dtype']}",
    "device": lambda w, r: f"{w.torch()}.device({w.string(r['device'])})",
    "global": lambda w, r: w.name(r["global"]),
    "call": Writer._call,
    "state": lambda w, r: w.instance(r),
    "attr": Writer._part,
    "to": Writer._moved,
    "eval": lambda w, r: layout.behind(w.node(r["eval"]), ".eval()"),
    "text": lambda w, r: f"{w.string('x')} * {r['text']}",
    "from": lambda w, r: w.call(f"{w.name(r['from'])}.from_dict", [r["values"]], {}),
    "partial": Writer._partial,
    "ndarray": lambda w, r: layout.behind(w.node(r["ndarray"]), ".numpy()"),
    "id": lambda w, r: w.kept(r["id"], r["is"]),
    "ref": lambda w, r: w.again(r["ref"]),
}
