"""A grammar of programs that break graphs and are hard to mend (random_programs.py)."""

import random
from typing import Any

# What `fix` is given; `shape` and `values` are varied by the judge.
MAKE = {
    "x": ("torch.float32", (4, 5)),
    "w": ("torch.float32", (4, 5)),
    "h": ("torch.float16", (4, 5)),
    "d": ("torch.float64", (4, 5)),
    "r": ("torch.float32", (5,)),
    "n": ("torch.int64", (4, 5)),
    "s": ("torch.float32", ()),
    "m": ("torch.bool", (4, 5)),
}


CHANGE = "def change(t):\n    t.add_(1)\n"
MODULE = """class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("b", torch.linspace(-2, 2, 20).view(4, 5))
"""


class Grammar:
    """Writes one function; `rng` decides everything."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.names = ["x", "w"]  # float32 [4, 5], certainly bound
        self.count = 0
        self.helpers: list[str] = []  # functions that take what `f` takes and return a tensor like x

    def pick(self, *choices: Any) -> Any:
        return self.rng.choice(choices)

    def value(self, depth: int = 0) -> str:
        """A float32 tensor of the shape of x."""
        a = self.pick(*self.names)
        if depth > 1 or self.rng.random() < 0.25:
            return a
        if self.helpers and self.rng.random() < 0.15:
            return self.call(a)
        b = self.value(depth + 1)
        return self.pick(
            f"{a} + {b}",
            f"{a} - 1",
            f"{a} * {self.pick('2', '0.5', '-1.0')}",
            f"{a} * {b}",
            f"{a}.abs()",
            f"{a}.clone()",
            f"torch.relu({b})",
            f"{a}.sigmoid()",
            f"{a} / 2",
            f"{a} / {b}",
            f"{a}.sqrt()",
            f"{a} + r",
            f"torch.zeros_like({a})",
            f"{a}.clamp(max=1.0)",
            f"{a} * s",
            f"-({b})",
            f"F.gelu({a})",
            f"{a}.softmax(-1)",
            f"{a}.cumsum(0)",
            f"torch.maximum({a}, {b})" if b.isidentifier() else f"{b}",
        )

    def other(self) -> str:
        """A tensor of some other dtype or shape, or a number."""
        return self.pick("h", "d", "n", "r", "s", "n * 2", "x.sum(0)", "x[0]", "1.0", "0", "h * 2", "k", "x.T", "m")

    def condition(self) -> str:
        a = self.pick(*self.names)
        simple = self.pick(
            f"{a}.sum() > 0",
            f"{a}.mean() < 0.1",
            f"({a} > 1).any()",
            f"{a}.isnan().any()",
            f"torch.isfinite({a}).all()",
            f"{a}.max() > {self.pick('1', '2.5', 's')}",
            "n.sum() % 2 == 0",
            "m.any()",
            "m.all()",
            f"{a}[0, 0] > 0",
            f"torch.all({a} > -1)",
            "s > 0",
            "s",
            f"{a}.sum().item() > 0",
            f"torch.equal({a}, w)",
            "0 < s < 1",
        )
        if self.rng.random() < 0.2:
            return f"{simple} {self.pick('and', 'or')} {self.condition_simple()}"
        return f"not {simple}" if self.rng.random() < 0.1 and " " not in simple else simple

    def condition_simple(self) -> str:
        return self.pick("w.sum() > 0", "flag", "k > 2", "m.any()", "(x > 0).all()", "x.shape[0] > 3")

    def fresh(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def statement(self, depth: int) -> list[str]:
        """Lines; may bind names."""
        kind = self.rng.random()
        a = self.pick(*self.names)
        if self.rng.random() < 0.15:
            return self.alias(a)
        if self.rng.random() < 0.1:
            return self.gather(a)
        if self.rng.random() < 0.1:
            return self.place(a)
        if self.rng.random() < 0.1:
            return self.numbers(a)
        if kind < 0.20:
            name = self.pick(self.fresh(), a)
            line = f"{name} = {self.value()}"
            self.bind(name)
            return [line]
        if kind < 0.28:  # aliases and views
            name = self.fresh()
            line = f"{name} = {self.pick(a, f'{a}.view(4, 5)' if a in 'xw' else a, f'{a}.detach()', f'{a}[:]', f'{a}.contiguous()')}"
            self.bind(name)
            return [line]
        if kind < 0.36:
            return [
                self.pick(
                    f"{a} += 1", f"{a}.mul_(2)", f"{a}.add_(r)", f"{a}[0] = 0", f"{a} *= s", f"{a}.clamp_(min=-1)"
                )
            ]
        if kind < 0.62 and depth < 2:
            return self.branch(depth)
        if kind < 0.70:
            return self.scalar(a)
        if kind < 0.78:
            return self.mask(a)
        if kind < 0.84:
            return [
                self.pick(
                    f"assert {self.condition()}",
                    f"assert ({a} < 1e9).all(), 'large'",
                    f"print('value', {a}.sum() > 0)",
                    "print('here', k)",
                    f"print({a}.shape)",
                    f"{self.fresh()} = {a}.sum().item()",
                )
            ]
        if kind < 0.90 and depth < 1:
            return self.loop(depth)
        if kind < 0.94:
            name = self.fresh()
            line = f"{name} = {self.value(1)} if {self.condition()} else {self.pick(self.value(1), self.other())}"
            return [line]  # its dtype is not known: not bound
        if kind < 0.97 and depth:
            return [f"return {self.pick(self.value(), self.other(), a)}"]
        name = self.fresh()
        line = f"{name} = math.{self.pick('sqrt', 'exp', 'floor')}({self.pick('s.abs()', 'k', 'x.abs().max()')}) * {a}"
        self.bind(name)
        return [line]

    def call(self, a: str) -> str:
        second = self.pick(*self.names)
        return f"{self.pick(*self.helpers)}({a}, {second}, h, d, r, n, s, m, flag, k)"

    def change(self, a: str) -> str:
        """Changes it in place."""
        return self.pick(
            f"{a}.add_(1)",
            f"{a} += 1",
            f"{a}[0] = 0",
            f"{a}.view(-1).mul_(2)",
            f"{a}[1:].zero_()",
            f"torch.relu_({a})",
            f"torch.add({a}, 1, out={a})",
            f"change({a})",
            f"F.relu({a}, inplace=True)",
        )

    def alias(self, a: str) -> list[str]:
        """A branch with an arm that is a tensor that others hold, and a change of one of them behind it."""
        name = self.pick(self.fresh(), self.pick(*self.names))
        held = self.pick(
            a, a, f"{a}.view(4, 5)", f"{a}[:]", f"kept{self.count}[0]", self.call(a) if self.helpers else a
        )
        lines = [f"kept{self.count} = [{a}, {self.pick(*self.names)}]"] if held.startswith("kept") else []
        arms = [f"    {name} = {held}", f"    {name} = {self.value()}"]
        self.rng.shuffle(arms)
        if name in self.names and self.rng.random() < 0.4:
            lines += [f"if {self.condition()}:", arms[0]]
        elif self.rng.random() < 0.5:
            lines += [f"if {self.condition()}:", arms[0], "else:", arms[1]]
        else:
            yes, no = (arm.partition(" = ")[2] for arm in arms)
            lines.append(f"{name} = {yes} if {self.condition()} else {no}")
        changed = self.pick(a, name, name, *self.names)
        if self.rng.random() < 0.45:
            lines.append(self.change(changed))
        self.bind(name)
        return lines

    def gather(self, a: str) -> list[str]:
        """Rows that a branch treats one by one, gathered in a list; some changed in place on the way."""
        result = self.fresh()
        rows = f"rows{self.count}"
        values = ("t * 2", "-t", "t", "t.abs()", "t + r", "t[:]", "t / s", "t - t.mean()")
        yes, no = self.pick(*values), self.pick(*values)
        condition = self.pick("t.sum() > 0", "(t > 1).any()", "t[0] > 0", "t.max() > s", self.condition())
        changed = [self.pick("t.add_(1)", f"{a}.mul_(2)", f"{rows}[0].add_(1)")] if self.rng.random() < 0.2 else []
        lines = self.pick(
            [f"{rows}.append({yes} if {condition} else {no})", *changed],
            [f"if {condition}:", f"    {rows}.append({yes})", "else:", f"    {rows}.append({no})", *changed],
            [f"if {condition}:", f"    t = {yes}", f"{rows}.append(t)", *changed],
        )
        lines = [f"{rows} = []", f"for t in {a}:", *(f"    {line}" for line in lines)]
        if self.rng.random() < 0.3:
            lines = [f"{rows} = [{yes} if {condition} else {no} for t in {a}]"]
        if self.rng.random() < 0.15:
            lines.append(self.change(a))
        self.bind(result)
        return [*lines, f"{result} = torch.stack({rows})"]

    def place(self, a: str) -> list[str]:
        """An element whose place a tensor tells, or the number taken out of it: read, stored to, changed behind it."""
        self.count += 1
        index, result = f"i{self.count}", self.fresh()
        tells = self.pick(
            f"{a}.sum(1).argmax()", f"{a}.abs().sum(1).argmin()", "n[0, 0] % 4", "n[0, 1]", "x.sum(0).argmax()"
        )
        lines = [f"{index} = {tells}{self.pick('', '', '.item()')}"]
        if self.rng.random() < 0.3:
            b = self.pick(*self.names)
            lines = [
                f"{result} = {b}",
                f"for {index}q, {index} in enumerate({self.pick('n[:, 0].tolist()', '(n[:, 0] % 5).tolist()', 'n[:, 1]')}):",
            ]
            self.bind(result)
            return [*lines, f"    {result} = {result} {self.pick('+', '*')} {a}[{index}q, {index}]"]
        b = self.pick(*self.names)
        use = self.pick(
            f"{result} = {b} * {a}[{index}]",
            f"{result} = {b} + {a}[{index}, 0]",
            f"{result} = {b} - {a}[:, {index}].sum()",
            f"{result} = {a}[{index}]",
            f"{result} = {a}[0, {index}]",
            f"{a}[{index}] += 1",
            f"{a}[{index}] = {self.pick('0', 'r * 2', f'{b}[0]', 's')}",
            f"{a}[{index}, {index}] *= 2",
        )
        lines.append(use)
        if self.rng.random() < 0.3:
            lines.append(self.change(self.pick(a, b)))
        if use.startswith(f"{result} = {b}"):
            self.bind(result)
        return lines

    def several(self) -> list[str]:
        """A branch that returns, or assigns, several values at once."""
        a, b = self.pick(*self.names), self.pick(*self.names)
        yes, no = f"{self.value()}, {a}", f"{self.value()}, {self.value()}"
        if self.rng.random() < 0.5 and a != b:
            return [f"if {self.condition()}:", f"    {a}, {b} = {self.pick(self.value(), b)}, {a}"]
        if self.rng.random() < 0.5:
            yes, no = f"[{yes}], None", f"[{no}], None"
        return [f"if {self.condition()}:", f"    return {yes}", f"return {no}"]

    def numbers(self, a: str) -> list[str]:
        """A number of Python's that a tensor decides about, or counts, and what reads it."""
        number, result = self.fresh(), self.fresh()
        b, condition = self.pick(*self.names), self.condition()
        first, second = self.pick("2.0", "0.5", "0.1", "3", "0.0"), self.pick("1.0", "0.3", "-1.5", "4")
        tensor = self.pick("s", f"{a}.mean()", f"{a}.sum() / 3", "n.sum() / 7")
        lines = self.pick(
            [f"{number} = {first}", f"if {condition}:", f"    {number} = {second}"],
            [
                f"if {condition}:",
                f"    {number} = {first}",
                f"    {b} = {self.value()}",
                "else:",
                f"    {number} = {second}",
            ],
            [f"{b}, {number} = {b}, {first}", f"if {condition}:", f"    {b}, {number} = {self.value()}, {second}"],
            [f"{number} = {tensor} if {condition} else {first}"],
            [f"{number} = {tensor}", f"if {condition}:", f"    {number} = {first}"],
            [f"{number} = 0", "for i in range(4):", f"    if {a}[i].sum() > 0:", f"        {number} += 1"],
            [
                f"{number} = 0",
                "for i in range(4):",
                f"    if {self.pick(f'{a}[i].max() > 1', condition)}:",
                f"        {b} = {b} * 0.5",
                f"        {number} += {self.pick('1', '2')}",
            ],
        )
        use = self.pick(
            f"{result} = {b} * {number}",
            f"{result} = {b} + {a} / {number}",
            f"{result} = {b} * ({number} * 2 + 1)",
            f"{result} = {b} / max({number}, 1)",
            f"{result} = {number} - {b}",
            f"{result} = {b} + {number} * r",
            f"{result} = {number} * {self.pick('h', 'd', 'n', 's', 'x.sum()')}",
            f"{result} = {b}.sum() / {number}",
            f"{result} = [{b}, {number}]",
            f"{result} = {b} ** {number}",
        )
        if self.rng.random() < 0.4:
            lines += self.asks(number, b)
        if use.startswith(f"{result} = {b} ") and f"* {a}" not in use:
            self.bind(result)
        return [*lines, use]

    def asks(self, number: str, a: str) -> list[str]:
        """Branches that ask for a number."""
        condition = self.pick(
            f"{number} > 0", f"{number} == 0", number, f"0 < {number} < 3", f"{number} >= 0.5", f"not {number}"
        )
        value = self.pick(f"{a} / {number}", f"{a} * {number}", f"{a} - 1", f"{a}.sqrt() / {number}", self.value())
        return self.pick(
            [f"if {condition}:", f"    {a} = {value}"],
            [f"if {condition}:", f"    {a} = {value}", "else:", f"    {a} = {self.value()}"],
            [f"if {condition}:", f"    return {value}"],
            [f"{a} = {value} if {condition} else {self.value()}"],
            [f"if {condition}:", f"    if {number} > 1:", f"        {a} = {value}"],
        )

    def early(self) -> list[str]:
        """A loop that returns."""
        a, b = self.pick(*self.names), self.pick(*self.names)
        name = self.pick(self.fresh(), a)
        lines = [
            f"{name} = {self.value()}",
            f"if {self.condition()}:",
            f"    return {self.pick(name, a, self.value())}",
        ]
        if self.rng.random() < 0.5:
            lines.append(f"{b} = {b} * 0.5 + 0.1")
        self.rng.shuffle(lines[3:])
        head = self.pick("for i in range(3):", "for i in range(2):", "for i in range(k):")
        return [head, *(f"    {line}" for line in lines), f"return {self.pick(name, a, b, self.value())}"]

    def bind(self, name: str) -> None:
        if name not in self.names:
            self.names.append(name)

    def block(self, depth: int, most: int = 2) -> list[str]:
        known = list(self.names)
        lines = [line for _ in range(self.rng.randint(1, most)) for line in self.statement(depth)]
        self.names = known  # what a block binds may not be bound
        return [f"    {line}" for line in lines]

    def branch(self, depth: int) -> list[str]:
        shape = self.rng.random()
        condition = self.condition()
        if shape < 0.45:
            name = self.pick(self.fresh(), self.pick(*self.names))
            same = self.rng.random() < 0.75
            yes, no = self.value(), self.value() if same else self.other()
            if self.rng.random() < 0.3:
                second = self.fresh()
                lines = [
                    f"if {condition}:",
                    f"    {name} = {yes}",
                    f"    {second} = {self.value()}",
                    "else:",
                    f"    {name} = {no}",
                    f"    {second} = {self.value()}",
                ]
                self.bind(second)
            else:
                lines = [f"if {condition}:", f"    {name} = {yes}", "else:", f"    {name} = {no}"]
            if same:
                self.bind(name)
            elif name in self.names and len(self.names) > 2:
                self.names.remove(name)
            return lines
        if shape < 0.7:
            name = self.pick(*self.names)
            return [f"if {condition}:", f"    {name} {self.pick('=', '=', '=', '+=', '*=')} {self.value()}"]
        if shape < 0.8:
            return [f"if {condition}:", f"    return {self.value()}"]
        if shape < 0.86:
            return [f"if {condition}:", "    raise ValueError('bad')"]
        lines = [f"if {condition}:", *self.block(depth + 1)]
        if self.rng.random() < 0.5:
            lines += [self.pick("else:", f"elif {self.condition()}:"), *self.block(depth + 1)]
        return lines

    def scalar(self, a: str) -> list[str]:
        name = self.fresh()
        source = self.pick(f"{a}.sum()", f"{a}.max()", "s", "n.sum()", "m.sum()", f"{a}[0, 0]", "h.sum()")
        taken = self.pick(f"{source}.item()", f"float({source})", f"int({source})", f"{source}.item() * 2 + 1")
        if self.rng.random() < 0.4:
            return [f"{name} = {taken}", *self.asked(name)]
        self.bind(result := self.fresh())
        return [f"{name} = {taken}", f"{result} = {self.pick(*self.names[:2])} {self.pick('*', '+', '-', '/')} {name}"]

    def asked(self, number: str) -> list[str]:
        """A branch that asks for a number, which tensors take as well."""
        target = self.pick(*self.names)
        tests = (
            f"{number} > 0",
            f"{number} > 1.5",
            f"{number} == 0",
            f"not {number}",
            f"{number} and {number} * 0.7 > 2.1",
        )
        lines = [f"{target} = {self.value()}"] if self.rng.random() < 0.3 else []
        lines += [f"if {self.pick(*tests)}:", f"    {target} = {target} {self.pick('*', '+', '-', '/')} {number}"]
        if self.rng.random() < 0.3:
            lines += ["else:", f"    {target} = {self.value()}"]
        if self.rng.random() < 0.3:
            lines.append(f"{target} = {target} * {number}")
        return lines

    def mask(self, a: str) -> list[str]:
        condition = self.pick("m", f"{a} > 0", f"{a}.isnan()", "n > 1")
        result = self.fresh()
        line = self.pick(
            f"{a}[{condition}] = {self.pick('0', '1.5', 's')}",
            f"{a}[{condition}] = {a}[{condition}] * 2",
            f"{a}[{condition}] *= 2",
            f"{result} = {a}[{condition}].sum()",
            f"{result} = {a}[{condition}].mean()",
            f"{result} = {a} + ({condition}).nonzero().shape[0]",
            f"{result} = {a}.masked_fill({condition}, 0.0)",
            f"{result} = [v * 2 for v in r.tolist()]",
            f"{result} = torch.tensor([s.item(), r[0].item()])",
        )
        if line.startswith(f"{result} = {a} +") or "masked_fill" in line:
            self.bind(result)
        return [line]

    def loop(self, depth: int) -> list[str]:
        index = self.pick("i", "j")
        head = self.pick(f"for {index} in range(3):", f"for {index} in range(x.shape[0]):", f"for {index} in (0, 1):")
        if self.rng.random() < 0.4:
            name = self.pick(*self.names)
            return [
                head,
                f"    if {self.condition()}:",
                f"        {self.pick('break', f'{name} = {name} * 0.5', 'continue')}",
                f"    {name} = {name} + {index}",
            ]
        return [head, *self.block(depth + 1)]

    def sparse(self) -> list[str]:
        """A sparse tensor made dense at once: indices that are not there would be an error in torch, or worse."""
        size, count = (4, 5), self.rng.randint(1, 3)
        places = [[self.rng.randrange(n) for n in size] for _ in range(count)]
        indices = str([[place[d] for place in places] for d in range(len(size))])
        numbers = str([self.pick(1, 2, -3) for _ in range(count)])
        if self.rng.random() < 0.7:
            numbers = str([self.pick(1.5, -0.0, 3e8, -2.0) for _ in range(count)])
        values = self.pick(
            numbers, f"torch.tensor({numbers})", f"torch.tensor({numbers}, dtype=torch.float16)", f"r[:{count}]"
        )
        name, lines = self.fresh(), []
        if self.rng.random() < 0.3:
            lines.append(f"i{name} = torch.tensor({indices})")
            indices = f"i{name}"
        made = f"torch.sparse_coo_tensor({indices}, {values}, {size}){self.pick('', '', '.coalesce()')}"
        if self.rng.random() < 0.3:
            return [*lines, f"s{name} = {made}", *self.scalar("x"), f"{name} = s{name}.to_dense()"]
        return [*lines, f"{name} = {made}.to_dense()"]

    def helper(self) -> str:
        """Returns a tensor like x: often one that it was given."""
        lines = [line for _ in range(self.rng.randint(0, 1)) for line in self.statement(1)]
        if self.rng.random() < 0.5:
            lines += [f"if {self.condition()}:", f"    return {self.value()}", f"return {self.pick(*self.names)}"]
        else:
            name = self.pick(*self.names)
            lines += [f"if {self.condition()}:", f"    {name} = {self.value()}", f"return {name}"]
        return "\n".join(f"    {line}" for line in lines)

    def function(self) -> str:
        """Of the whole program, whose entry is `f`."""
        given, texts = f"{', '.join(MAKE)}, flag, k", [CHANGE]
        for name in self.rng.choice([(), (), ("g1",), ("g1", "g2")]):
            texts.append(f"def {name}({given}):\n{self.helper()}\n")
            self.names, self.helpers = ["x", "w"], [*self.helpers, name]
        module = self.rng.random() < 0.25
        if module:
            self.names.append("self.b")
        lines = [line for _ in range(self.rng.randint(2, 5)) for line in self.statement(0)]
        bound = self.rng.sample(self.names, min(len(self.names), 3))
        if self.rng.random() < 0.1:
            lines += self.sparse()
            bound.append(lines[-1].partition(" ")[0])
        if self.rng.random() < 0.25:
            lines += self.pick(self.several, self.early)()
        if not lines[-1].startswith("return"):
            lines.append(f"return {', '.join(bound)}")
        body = "\n".join(f"{'    ' * (1 + module)}{line}" for line in lines)
        if not module:
            return "\n\n".join([*texts, f"def f({given}):\n{body}\n"])
        return "\n\n".join([*texts, f"{MODULE}\n    def forward(self, {given}):\n{body}\n", "f = M()\n"])
