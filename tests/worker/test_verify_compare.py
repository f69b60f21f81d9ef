"""What counts as the same result: snapshots and their comparison, without a worker."""

import collections
import dataclasses
import datetime
import enum
import pickle
import random
import sys
import tracemalloc
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import pytest

torch = pytest.importorskip("torch")
np = pytest.importorskip("numpy")

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "analysis" / "worker"))

from graphglue_worker import compare, snapshot  # noqa: E402 - after the path is set

NAN, INF = float("nan"), float("inf")


def differ(a: Any, b: Any, compiled: bool = False) -> compare.Difference:
    """Both go through pickle, as between processes."""
    a, b = (pickle.loads(pickle.dumps(snapshot.take(x))) for x in (a, b))
    return compare.difference(a, b, compiled=compiled)


class Point(NamedTuple):
    x: Any
    y: Any


class Other(NamedTuple):
    x: Any
    y: Any


class Colour(enum.Enum):
    RED = 1
    GREEN = 2


@dataclasses.dataclass
class Record:
    loss: Any
    name: str = "n"


class Slotted:
    __slots__ = ("held",)

    def __init__(self, held: Any) -> None:
        self.held = held


class Holder:
    def __init__(self, **held: Any) -> None:
        self.__dict__.update(held)

    def __call__(self) -> None: ...


class Sub(torch.Tensor):
    pass


class Words(list):
    pass


def words(*items: Any, **attributes: Any) -> Words:
    made = Words(items)
    made.__dict__.update(attributes)
    return made


def numbers(*values: float) -> torch.Tensor:
    return torch.tensor(values)


def payload(bits: int) -> torch.Tensor:
    return torch.tensor([bits], dtype=torch.int32).view(torch.float32)


ONE = numbers(1.0, 2.0)
SAME = {
    "NaN is NaN": (numbers(NAN), numbers(NAN)),
    "whatever its payload and sign": (payload(0x7FC00001), payload(0xFFC00002 - (1 << 32))),
    "and in complex numbers": (torch.tensor([complex(NAN, 1)]), torch.tensor([complex(NAN, 1)])),
    "and in half precision": (numbers(NAN).half(), -numbers(NAN).half()),
    "nan as a number": (NAN, -NAN),
    "nothing": (torch.empty(0, 3), torch.empty(0, 3)),
    "no values on meta": (torch.ones(2, device="meta"), torch.zeros(2, device="meta")),
    "strides of one": (torch.ones(1, 3), torch.ones(3, 1).t()),
    "a slice of more": (torch.arange(6.0)[2:4], numbers(2.0, 3.0)),
    "sets have no order": ({1, "a", (2, 3)}, {(2, 3), "a", 1}),
    "views of one tensor that do not overlap": (torch.arange(4.0).chunk(2), (numbers(0.0, 1.0), numbers(2.0, 3.0))),
    "functions by name": ([len, Record], [len, Record]),
    "dates": (datetime.date(2020, 1, 1), datetime.date(2020, 1, 1)),
}  # fmt: skip
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # torch announces the future of these
    ROWS = (torch.eye(2).to_sparse_csr(), torch.eye(2).to_sparse_csc())
    SCALED = tuple(torch.quantize_per_tensor(x * ONE, x, 0, torch.qint8) for x in (1.0, 0.5))
    NESTED = tuple(torch.nested.nested_tensor([ONE, x * torch.ones(3)]) for x in (1, 2))
DIFFERENT = {
    "a value": (ONE, numbers(1.0, 3.0)),
    "the last bit": (ONE, torch.nextafter(ONE, numbers(9.0, 9.0))),
    "the sign of zero": (numbers(0.0), numbers(-0.0)),
    "the sign of a complex zero": (torch.tensor([0j]), -torch.tensor([0j])),
    "the sign of zero as a number": (0.0, -0.0),
    "NaN is no number": (numbers(NAN), numbers(0.0)),
    "infinity": (numbers(INF), numbers(-INF)),
    "dtype": (ONE, ONE.double()),
    "integers of another width": (torch.ones(2, dtype=torch.int32), torch.ones(2, dtype=torch.int64)),
    "unsigned ones": (torch.ones(2, dtype=torch.uint16), torch.zeros(2, dtype=torch.uint16)),
    "eight bits": (ONE.to(torch.float8_e5m2), (ONE * 2).to(torch.float8_e5m2)),
    "bools": (torch.tensor([True]), torch.tensor([False])),
    "shape": (ONE, ONE[None]),
    "device": (torch.ones(2, device="meta"), torch.ones(2)),
    "gradients": (ONE, ONE.clone().requires_grad_()),
    "a parameter": (torch.nn.Parameter(ONE.clone(), False), ONE),
    "a subclass": (ONE, ONE.as_subclass(Sub)),
    "strides": (torch.ones(2, 3), torch.ones(3, 2).t()),
    "memory format": (torch.ones(2, 3, 4, 4), torch.ones(2, 3, 4, 4).to(memory_format=torch.channels_last)),
    "expanded": (torch.ones(3), torch.ones(1).expand(3)),
    "sparse and dense": (torch.eye(2).to_sparse(), torch.eye(2)),
    "sparse values": (torch.eye(2).to_sparse(), (2 * torch.eye(2)).to_sparse()),
    "sparse places": (torch.eye(2).to_sparse(), torch.eye(2).flip(0).to_sparse()),
    "compressed rows": ROWS,
    "a scale": SCALED,
    "nested": NESTED,
    "types of numbers": (1, 1.0),
    "bool and int": (True, 1),
    "a tensor and its number": (torch.tensor(1.0), 1.0),
    "list and tuple": ([1], (1,)),
    "names of tuples": (Point(1, 2), Other(1, 2)),
    "dict order": ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
    "keys": ({"a": 1}, {"b": 1}),
    "kinds of keys": ({1: 0}, {"1": 0}),
    "ordered": (collections.OrderedDict(a=1), {"a": 1}),
    "sets": ({1, 2}, {1, 3}),
    "what sets hold": ({1.0}, {1}),
    "frozen": ({1}, frozenset({1})),
    "deques": (collections.deque([1]), collections.deque([2])),
    "enums": (Colour.RED, Colour.GREEN),
    "a dataclass": (Record(ONE), Record(ONE + 1)),
    "slots": (Slotted(1), Slotted(2)),
    "attributes": (Holder(a=1), Holder(a=2)),
    "attributes of a list": (words(1, tag=1), words(1, tag=2)),
    "dates": (datetime.date(2020, 1, 1), datetime.date(2020, 1, 2)),
    "ranges": (range(3), range(4)),
    "views of dicts": ({"a": 1}.keys(), {"b": 1}.keys()),
    "values of dicts": ({"a": 1}.values(), {"a": 2}.values()),
    "text of numpy": (np.array(["a"]), np.array(["b"])),
    "objects of numpy": (np.array([1, None], dtype=object), np.array([2, None], dtype=object)),
    "a numpy scalar and its number": (np.float64(1), 1.0),
    "a numpy scalar and an array": (np.float64(1), np.array(1.0)),
    "numpy dtype": (np.ones(2), np.ones(2, dtype=np.float32)),
    "a list iterator is no generator": (iter([1]), (i for i in [1])),
}  # fmt: skip


@pytest.mark.parametrize("pair", SAME.values(), ids=SAME)
def test_same(pair: tuple[Any, Any]) -> None:
    found = differ(*pair)
    assert found.same and not found.words


@pytest.mark.parametrize("pair", DIFFERENT.values(), ids=DIFFERENT)
def test_different(pair: tuple[Any, Any]) -> None:
    for a, b in (pair, pair[::-1]):
        found = differ(a, b)
        assert not found.same and found.words.startswith("the result")
    assert differ(pair[0], pair[0]).same or hasattr(pair[0], "__next__")


def items(*values: Any) -> Any:
    yield from values


COMPILED_SAME = {
    "a generator comes back as an iterator": (lambda: items(1, ONE), lambda: iter((1, ONE))),
    "a map": (lambda: map(abs, [-1]), lambda: iter([1])),
    "a numpy scalar as an array": (lambda: np.float32(3), lambda: np.array(3, dtype=np.float32)),
    "a numpy scalar as a number": (lambda: np.float64(0.1), lambda: 0.1),
    "an integer of numpy": (lambda: np.int64(3), lambda: 3),
    "a truth of numpy": (lambda: np.bool_(True), lambda: True),
    "one list seen twice": (lambda: [[1]] * 2, lambda: [[1], [1]]),
}
COMPILED_DIFFERENT = {
    "items of an iterator": (lambda: items(1, 2), lambda: iter((1, 3))),
    "fewer items": (lambda: items(1, 2), lambda: iter((1,))),
    "an iterator is no list": (lambda: items(1), lambda: [1]),
    "the value of a scalar": (lambda: np.float32(3), lambda: np.array(4, dtype=np.float32)),
    "a scalar's dtype": (lambda: np.float32(3), lambda: np.array(3.0)),
    "rounding of a scalar": (lambda: np.float32(0.1), lambda: 0.1),
    "an integer for a float": (lambda: np.float64(3), lambda: 3),
    "an array with a dimension": (lambda: np.float64(3), lambda: np.array([3.0])),
    "a number for a tensor": (lambda: torch.tensor(3.0), lambda: 3.0),
}


@pytest.mark.parametrize("pair", COMPILED_SAME.values(), ids=COMPILED_SAME)
def test_a_compiled_run_may_use_other_containers(pair: Any) -> None:
    assert differ(pair[0](), pair[1](), compiled=True).same
    assert not differ(pair[0](), pair[1](), compiled=False).same


@pytest.mark.parametrize("pair", COMPILED_DIFFERENT.values(), ids=COMPILED_DIFFERENT)
def test_but_no_other_values(pair: Any) -> None:
    assert not differ(pair[0](), pair[1](), compiled=True).same


def test_a_generator_that_raises_and_one_without_end() -> None:
    def raises() -> Any:
        yield 1
        raise ValueError("x")

    def endless() -> Any:
        while True:
            yield 1

    assert differ(raises(), raises()).same and not differ(raises(), items(1)).same
    assert differ(endless(), endless()).same


def test_closeness_is_of_the_dtype() -> None:
    for dtype, step in ((torch.float32, 1e-6), (torch.float16, 1e-3), (torch.bfloat16, 1e-2), (torch.float64, 1e-9)):
        one = torch.ones(3, dtype=dtype)
        near, far = differ(one, one + step), differ(one, one + 10_000 * step)
        assert not near.same and near.close and not far.same and not far.close and "3 of 3" in far.words
    assert differ(0.1, 0.1 + 1e-8).close and not differ(0.1, 0.2).close
    assert not differ([1, numbers(1.0)], [2, numbers(1.0 + 1e-7)]).close


def share(view: Any, other: Any) -> compare.Difference:
    """A run that returns a view of a tensor it was given, and one that returns the same view of a copy."""
    runs = []
    for copy in (False, True):
        seen, base = snapshot.Run(), torch.arange(6.0)
        taken = (snapshot.take(view(base.clone() if copy else base), seen), snapshot.take(other(base), seen))
        runs.append(snapshot.Node("list", [(str(i), part) for i, part in enumerate(taken)]))
    return compare.difference(*pickle.loads(pickle.dumps(runs)), compiled=False)


def test_shared_memory_is_part_of_the_result() -> None:
    for view, other in (
        (lambda x: x, lambda x: x),
        (lambda x: x[1:3], lambda x: x),
        (lambda x: x.view(2, 3), lambda x: x[5:]),
        (lambda x: x[::2], lambda x: x[2:3]),
        (lambda x: x.detach(), lambda x: [x]),
        (lambda x: x.numpy(), lambda x: x.numpy()),
    ):
        found = share(view, other)
        assert not found.same and not found.value and "memory" in found.words
    for view, other in (
        (lambda x: x[:3], lambda x: x[3:]),
        (lambda x: x[::2], lambda x: x[1::2]),
        (lambda x: x, lambda x: x.clone()),
        (lambda x: x[:0], lambda x: x),
    ):
        assert share(view, other).same


def test_being_the_same_object_is_part_of_the_result() -> None:
    one: list[Any] = []
    found = differ([one, one], [[], []])
    assert not found.same and not found.value
    assert differ([one, one], [one, one]).same
    assert differ(((), ()), ((), tuple([]))).same  # tuples do not change: who is who does not show


def test_cycles_and_shared_parts_take_no_time() -> None:
    def cycle(end: Any) -> Any:
        made: list[Any] = [end]
        made += [made, {"self": made}]
        return made

    assert differ(cycle(1), cycle(1)).same and not differ(cycle(1), cycle(2)).same
    wide: Any = ONE
    tall: Any = (ONE, 1)
    for _ in range(60):  # 2^60 paths
        wide, tall = [wide, wide], (tall, tall)
    assert differ(wide, wide).same and differ(tall, tall).same
    assert differ(wide, wide, compiled=True).same


def test_deep_nesting() -> None:
    def nest(value: Any, depth: int) -> Any:
        for _ in range(depth):
            value = [value]
        return value

    assert differ(nest(1, 90), nest(1, 90)).same
    found = differ(nest(1, 90), nest(2, 90))
    assert not found.same and len(found.words) < 400
    unknown = differ(nest(1, 5000), nest(1, 5000))  # equal, but nobody looked
    assert not unknown.same and "cannot be compared" in unknown.words


def test_large_tensors_are_not_kept_whole() -> None:
    big = torch.rand(3 * snapshot.KEEP_BYTES // 4)
    tracemalloc.start()
    taken = snapshot.take(big)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < snapshot.KEEP_BYTES and len(pickle.dumps(taken)) < snapshot.KEEP_BYTES // 8
    assert differ(big, big.clone()).same
    other = big.clone()
    other[random.Random(0).randrange(big.numel())] += 1e-6
    found = differ(big, other)
    assert not found.same and not found.close  # what was not kept is not known to be close
    assert "sampled elements differ, by up to" in differ(big, big + 1).words


def test_model_outputs() -> None:
    made = pytest.importorskip("transformers.modeling_outputs")
    assert differ(made.BaseModelOutput(ONE), made.BaseModelOutput(ONE.clone())).same
    assert not differ(made.BaseModelOutput(ONE), made.BaseModelOutput(ONE + 1)).same
    assert not differ(made.BaseModelOutput(ONE), {"last_hidden_state": ONE}).same


def test_user_classes_need_not_be_there_to_compare() -> None:
    """Snapshots are unpickled by a process that never imported the user's code."""
    data = pickle.dumps(
        snapshot.take(
            [Record(ONE), Point(1, 2), Colour.RED, Holder(a=1), words(1), Slotted(1), np.float64(1), {Colour.RED: 1}]
        )
    )
    assert __name__.encode() not in data


def test_equal_elements_are_kept_once() -> None:
    many = torch.arange(10_000.0)
    first, second = (snapshot.take(t) for t in (many, many.clone()))
    assert first.data is second.data and first.data is not snapshot.take(many + 1).data


def test_what_is_kept_once_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot, "MOST_SHARED_BYTES", 100_000)
    monkeypatch.setattr(snapshot, "_shared", {})
    for i in range(10):
        data = snapshot.take(torch.full((10_000,), float(i))).data
        assert data == snapshot.take(torch.full((10_000,), float(i))).data
    assert sum(map(len, snapshot._shared)) <= 100_000


@pytest.mark.parametrize(
    ("of", "large", "close"),
    [
        ([1e4, 1e-3], False, False),  # 1e-3 is what is left where two of 1e4 cancel
        ([1e4, 1e-3], True, True),
        ([1.0, 1e-3], True, False),
    ],
)
def test_what_cancels_is_as_close_as_what_it_was_made_of(of: list[float], large: bool, close: bool) -> None:
    """Under `large` the largest element that differs is the measure."""
    a = torch.tensor(of)
    b = a * (1 + 2e-7) + torch.tensor([0.0, 1e-3])
    d = compare.difference(snapshot.take(a), snapshot.take(b), admitted=compare.Admitted(large=large))
    assert not d.same and d.close is close


def test_what_stays_is_no_measure() -> None:
    """A mask's fill value is the largest element, and the same in both."""
    a = torch.tensor([torch.finfo(torch.float32).min, 1.0])
    d = compare.difference(
        snapshot.take(a), snapshot.take(a + torch.tensor([0.0, 1e-3])), admitted=compare.Admitted(large=True)
    )
    assert not d.close
