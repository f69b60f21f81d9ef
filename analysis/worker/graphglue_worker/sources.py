"""Recipes as Python source: the calls a person would write."""

from typing import Any

from graphglue_worker import tensors
from graphglue_worker.recipes import Recipe


class Unwritable(Exception):
    """A recipe that is no plain code; the text says what."""


class Writer:
    """Writes recipes for the file whose module is `home`; `imports` collects what the text needs: {module: {names}}."""

    def __init__(self, home: str) -> None:
        self.home = home
        self.imports: dict[str, set[str]] = {}

    def text(self, recipe: Recipe) -> str:
        """An expression.  Raises Unwritable."""
        if isinstance(recipe, list):
            return f"[{self.items(recipe)}]"
        if not isinstance(recipe, dict):
            return repr(recipe)
        for key, write in _WRITE.items():
            if key in recipe:
                return write(self, recipe)
        raise Unwritable(f"a value ({', '.join(sorted(recipe))}) that has no plain expression")

    def items(self, recipes: Any) -> str:
        return ", ".join(self.text(r) for r in recipes)

    def arguments(self, args: Any, kwargs: dict[str, Recipe]) -> str:
        """What stands between the parentheses of a call."""
        return ", ".join([*(self.text(a) for a in args), *(f"{k}={self.text(v)}" for k, v in kwargs.items())])

    def name(self, name: str) -> str:
        """A name that "module:qualified.name" has in the file."""
        module, _, path = name.partition(":")
        if "<" in path:
            raise Unwritable(f"{path}, which has no name outside the function it is defined in")
        if module in ("", "__main__", self.home):
            return path
        if module == "torch" or module.startswith("torch."):
            self.imports.setdefault("torch", set())
            return f"{module}.{path}"
        self.imports.setdefault(module, set()).add(path.partition(".")[0])
        return path

    def _call(self, recipe: Recipe) -> str:
        if recipe.get("set"):
            raise Unwritable("a value that is changed after it was made")
        return f"{self.name(recipe['call'])}({self.arguments(recipe.get('args', ()), recipe.get('kwargs', {}))})"

    def _part(self, recipe: Recipe) -> str:
        text = self.text(recipe["of"])
        for part in recipe["attr"].split(".") if recipe["attr"] else ():
            text += f"[{part}]" if part.isdigit() else f".{part}"
        return text

    def _tensor(self, recipe: Recipe) -> str:
        if recipe["tensor"]["fill"] == "blob":
            raise Unwritable("a tensor whose values are kept in a file")
        self.imports.setdefault("torch", set())
        return tensors.source(recipe["tensor"])

    def _tuple(self, recipe: Recipe) -> str:
        return f"({self.items(recipe['tuple'])}{',' if len(recipe['tuple']) == 1 else ''})"

    def _torch(self, text: str) -> str:
        self.imports.setdefault("torch", set())
        return text


_WRITE = {
    "tensor": Writer._tensor,
    "tuple": Writer._tuple,
    "dict": lambda w, r: "{" + ", ".join(f"{w.text(k)}: {w.text(v)}" for k, v in r["dict"]) + "}",
    "set": lambda w, r: f"{{{w.items(r['set'])}}}" if r["set"] else "set()",
    "size": lambda w, r: w._torch(f"torch.Size({r['size']!r})"),
    "float": lambda w, r: f'float("{r["float"]}")',
    "complex": lambda w, r: f"complex({r['complex'][0]!r}, {r['complex'][1]!r})",
    "slice": lambda w, r: f"slice({w.items(r['slice'])})",
    "dtype": lambda w, r: w._torch(f"torch.{r['dtype']}"),
    "device": lambda w, r: w._torch(f'torch.device("{r["device"]}")'),
    "global": lambda w, r: w.name(r["global"]),
    "call": Writer._call,
    "attr": Writer._part,
}
