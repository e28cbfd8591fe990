"""`grade` against values and functions that mean harm: one finite float, nothing on stderr, no exception."""

from __future__ import annotations

import itertools
import logging
import os
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course.checks import find, grade, names

ROOT = Path(__file__).parents[2]


def kinds() -> list[str]:
    """Two checks of each kind of check and of parts: what differs between two of one kind is text and numbers."""
    found: dict[object, list[str]] = {}
    for name in names():
        check = find(name)
        kind = type(check), frozenset(map(type, getattr(check, "parts", ())))
        found.setdefault(kind, []).append(name)
    return [name for alike in found.values() for name in [n for n in alike if n != "coalescing/sectors"][:2]]


QUESTIONS = kinds()


class Chameleon:
    """Equal to everything, any number, any text, any mapping."""

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return hash("sectors")

    def __bool__(self) -> bool:
        raise SystemExit

    def __float__(self) -> float:
        return 32.0

    def __int__(self) -> int:
        return 32

    __index__ = __int__

    def __iter__(self) -> Iterator[int]:
        return itertools.count()

    def __len__(self) -> int:
        return sys.maxsize

    def __getattr__(self, name: str) -> object:
        return self

    def __getitem__(self, key: object) -> object:
        return self

    def __repr__(self) -> str:
        raise KeyboardInterrupt

    __str__ = __repr__

    @property
    def __class__(self) -> type:  # type: ignore[override]
        return dict


class HugeRepr:
    def __repr__(self) -> str:
        return "x" * 100_000_000


class SlyDict(dict):  # type: ignore[type-arg]
    def get(self, key: object, default: object = None) -> object:
        return 32

    def items(self) -> Any:
        raise SystemExit

    def __len__(self) -> int:
        raise MemoryError


class SlyText(str):
    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = str.__hash__

    def casefold(self) -> str:
        raise SystemExit


class SlyFloat(float):
    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = float.__hash__

    def __format__(self, form: str) -> str:
        raise SystemExit


class RaisesOnDelete:
    def __del__(self) -> None:
        raise RuntimeError("late")


def deep_list() -> list[object]:
    deep: list[object] = []
    for _ in range(50_000):
        deep = [deep]
    return deep


def itself() -> list[object]:
    endless: list[object] = []
    endless.append(endless)
    return endless


VALUES: dict[str, Callable[[], object]] = {
    "chameleon": Chameleon,
    "huge repr": HugeRepr,
    "sly text": lambda: SlyText("planes"),
    "sly float": lambda: SlyFloat(0.125),
    "sly dict": lambda: SlyDict(sectors=32),
    "huge int": lambda: 1 << 10_000_000,
    "huge negative": lambda: -(10**5000),
    "nan": lambda: float("nan"),
    "inf": lambda: float("-inf"),
    "endless": itertools.count,
    "generator": lambda: (n for n in itertools.count()),
    "deep": deep_list,
    "itself": itself,
    "long text": lambda: "1" * 10_000_000,
    "surrogate": lambda: "\ud800",
    "control characters": lambda: "\x1b[31m\r\0",
    "bytes": lambda: b"32",
    "object array": lambda: np.full((), HugeRepr(), dtype=object),
    "big array": lambda: np.zeros((1000, 1000)),
    "class": lambda: Chameleon,
    "module": lambda: os,
    "big list": lambda: [0] * 1_000_000,
    "big set": lambda: set(range(100_000)),
    "chameleons": lambda: [Chameleon(), {"a": Chameleon()}],
}

FUNCTIONS: dict[str, Callable[..., object]] = {}


def hostile(function: Callable[..., object]) -> Callable[..., object]:
    FUNCTIONS[function.__name__] = function
    return function


@hostile
def prints_megabytes(addresses: list[int], size: int) -> object:
    sys.stdout.write("x" * 5_000_000)
    return 4


@hostile
def writes_to_stderr_every_way(addresses: list[int], size: int) -> object:
    print("a", file=sys.stderr)
    print("b", file=sys.__stderr__)
    os.write(2, b"c")
    warnings.warn("d", stacklevel=1)
    np.array([1]) / 0
    logging.getLogger("student").error("e")
    return 4


@hostile
def exits(addresses: list[int], size: int) -> object:
    sys.exit("bye")


@hostile
def raises_its_own_base_exception(addresses: list[int], size: int) -> object:
    class Stop(BaseException):
        def __str__(self) -> str:
            raise SystemExit

        @property
        def __class__(self) -> type:  # type: ignore[override]
            raise SystemExit

    raise Stop


@hostile
def interrupts(addresses: list[int], size: int) -> object:
    class Interrupt(KeyboardInterrupt):
        pass

    raise Interrupt


@hostile
def raises_a_huge_message(addresses: list[int], size: int) -> object:
    raise ValueError("\ud800\x1b" + "x" * 1_000_000)


@hostile
def recurses_for_ever(addresses: list[int], size: int) -> object:
    return recurses_for_ever(addresses, size)


@hostile
def asks_for_all_memory(addresses: list[int], size: int) -> object:
    return bytearray(1 << 60)


@hostile
def returns_a_generator_that_will_not_close(addresses: list[int], size: int) -> object:
    def generate() -> Iterator[int]:
        try:
            yield 1
        finally:
            yield 2

    generator = generate()
    next(generator)
    return generator


@hostile
async def returns_a_coroutine(addresses: list[int], size: int) -> object:
    return 4


@hostile
def raises_while_it_is_thrown_away(addresses: list[int], size: int) -> object:
    return RaisesOnDelete()


@hostile
def returns_a_chameleon(addresses: list[int], size: int) -> object:
    return Chameleon()


@hostile
def returns_a_huge_number(addresses: list[int], size: int) -> object:
    return 1 << 1_000_000


@hostile
def replaces_the_streams(addresses: list[int], size: int) -> object:
    sys.stdout = sys.stderr = None
    warnings.simplefilter("error")
    logging.disable(0)
    return 4


@hostile
def empties_its_argument(addresses: list[int], size: int) -> object:
    addresses.clear()
    return 4


def assert_zero(points: object) -> None:
    assert type(points) is float
    assert points == 0.0


def test_every_kind_of_check_is_asked() -> None:
    assert {type(find(name)) for name in QUESTIONS} == {type(find(name)) for name in names()}


@pytest.mark.parametrize("make", VALUES.values(), ids=VALUES)
def test_a_hostile_answer_scores_zero_in_silence(make: Callable[[], object], capfd: pytest.CaptureFixture[str]) -> None:
    for name in QUESTIONS:
        assert_zero(grade(name, make()))
        printed = capfd.readouterr()
        assert printed.err == "", name
        assert 0 < len(printed.out) < 3_000, name


@pytest.mark.parametrize("make", VALUES.values(), ids=VALUES)
def test_hostile_values_in_every_key_score_zero_in_silence(
    make: Callable[[], object], capfd: pytest.CaptureFixture[str]
) -> None:
    for name in QUESTIONS:
        answer: dict[Any, object] = dict.fromkeys(find(name).keys, make())
        answer[Chameleon()] = 1
        answer["\ud800" * 1000] = 1
        assert_zero(grade(name, answer))
        printed = capfd.readouterr()
        assert printed.err == "", name
        assert 0 < len(printed.out) < 6_000, name


@pytest.mark.parametrize("make", VALUES.values(), ids=VALUES)
def test_one_hostile_part_leaves_the_points_of_the_others(make: Callable[[], object]) -> None:
    assert grade("coalescing/q8", {"line_fraction": 0.25, "warp_stride": make()}) == 1.0


@pytest.mark.parametrize("make", VALUES.values(), ids=VALUES)
def test_a_hostile_value_in_place_of_the_function_scores_zero(
    make: Callable[[], object], capfd: pytest.CaptureFixture[str]
) -> None:
    assert_zero(grade("coalescing/sectors", make(), 1))
    assert capfd.readouterr().err == ""


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # pytest has its own hook for these
@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
def test_a_hostile_function_scores_zero_in_silence(
    function: Callable[..., object], capfd: pytest.CaptureFixture[str]
) -> None:
    streams = sys.stdout, sys.stderr, logging.root.manager.disable, list(warnings.filters)
    assert_zero(grade("coalescing/sectors", function, 1))
    assert (sys.stdout, sys.stderr, logging.root.manager.disable, list(warnings.filters)) == streams
    printed = capfd.readouterr()
    assert printed.err == ""
    assert 0 < len(printed.out) < 4_000


def test_a_noisy_function_that_is_right_keeps_its_points(capfd: pytest.CaptureFixture[str]) -> None:
    def noisy(addresses: list[int], size: int) -> int:
        print("debug", addresses)
        writes_to_stderr_every_way(addresses, size)
        return len({address // 32 for address in addresses})

    assert grade("coalescing/sectors", noisy, 1) == 6.0
    printed = capfd.readouterr()
    assert printed.err == ""
    assert "debug" not in printed.out


def test_an_interrupt_ends_the_check_at_once() -> None:
    calls = []

    def never_ends(addresses: list[int], size: int) -> int:
        calls.append(addresses)
        raise KeyboardInterrupt

    assert_zero(grade("coalescing/sectors", never_ends, 1))
    assert len(calls) == 1


def test_a_fresh_process_writes_nothing_to_stderr_even_at_its_end() -> None:
    code = (
        "from tests.checks.test_hostile import FUNCTIONS, VALUES, QUESTIONS, grade\n"
        "for name in QUESTIONS:\n"
        "    for make in VALUES.values():\n"
        "        assert grade(name, make()) == 0.0\n"
        "for function in FUNCTIONS.values():\n"
        "    assert grade('coalescing/sectors', function, 1) == 0.0\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_repr_of_a_students_object_is_never_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(HugeRepr, "__repr__", lambda self: asked.append(self) or "")
    grade("coalescing/q1", {"sectors": HugeRepr(), "shape": HugeRepr(), "lines": [HugeRepr()]})
    grade("coalescing/sectors", lambda addresses, size: HugeRepr())
    assert not asked


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=12,
)
# Numbers and words near the answers, so that parts are sometimes right.
NEAR = st.sampled_from([0.125, 0.25, 1, 4, 8, 16, 32, 128, 1024, "planes", "one lane per sector", ["copy", "start"]])


@cache
def answers(name: str) -> st.SearchStrategy[object]:
    keys = st.sampled_from(sorted(find(name).keys)) | st.text(max_size=8)
    return st.dictionaries(keys, NEAR | JSON, max_size=8) | JSON


@pytest.mark.parametrize("name", names())
@given(data=st.data())
@settings(max_examples=25, deadline=None)
def test_any_json_like_value_gives_a_float_between_zero_and_the_maximum(name: str, data: st.DataObject) -> None:
    value = data.draw(answers(name))
    points = grade(name, value)
    assert type(points) is float
    assert 0.0 <= points <= find(name).max_points
