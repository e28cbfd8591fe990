"""Values of a student become plain data by their exact type, or are refused in words."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from decimal import Decimal
from enum import IntEnum
from fractions import Fraction

import numpy as np
import pytest

from course.checks.values import NotPlainError, is_placeholder, kind, plain, type_name


class EqualsEverything:
    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 0

    def __float__(self) -> float:
        return 32.0

    __int__ = __index__ = lambda self: 32  # type: ignore[assignment]


class SlyInt(int):
    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = int.__hash__


class SlyText(str):
    def casefold(self) -> str:
        raise SystemExit


class Colour(IntEnum):
    RED = 32


@pytest.mark.parametrize("value", [0, -7, 1.5, "text", True, [1, [2.0]], (1, "a"), {"a": [1]}])
def test_plain_values_stay_what_they_are(value: object) -> None:
    assert plain(value) == value
    assert type(plain(value)) is type(value)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (np.int8(4), 4),
        (np.uint64(4), 4),
        (np.float16(0.5), 0.5),
        (np.float32(0.125), 0.125),
        (np.longdouble(0.25), 0.25),
        (np.bool_(True), True),
        (np.str_("planes"), "planes"),
        (np.array(32), 32),
        (np.array(0.125, np.float32), 0.125),
    ],
)
def test_numpy_scalars_become_python_values(value: object, expected: object) -> None:
    assert plain(value) == expected
    assert type(plain(value)) is type(expected)


def test_sets_become_frozensets_of_plain_values() -> None:
    assert plain({np.int64(1), 2}) == frozenset({1, 2})


@pytest.mark.parametrize(
    "value",
    [
        EqualsEverything(),
        SlyInt(32),
        SlyText("planes"),
        Colour.RED,
        OrderedDict(a=1),
        defaultdict(int),
        Fraction(1, 8),
        Decimal("0.125"),
        1j,
        b"planes",
        range(3),
        iter([1]),
        np.array([1, 2]),
        np.array(EqualsEverything(), dtype=object),
        np.complex64(1),
        np.datetime64("2024-01-01"),
        float("nan"),
        float("inf"),
        np.float64("-inf"),
        1 << 200,
        "x" * 20_000,
        [0] * 2_000,
        [[EqualsEverything()]],
        {"a": SlyInt(3)},
        None,
        ...,
    ],
    ids=lambda value: type(value).__name__,
)
def test_everything_else_is_refused_with_a_sentence(value: object) -> None:
    with pytest.raises(NotPlainError) as refusal:
        plain(value)
    assert len(str(refusal.value)) > 10
    assert str(refusal.value).endswith((".", "..."))


def test_deep_nesting_and_a_list_that_holds_itself_are_refused() -> None:
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    endless: list[object] = []
    endless.append(endless)
    for value in (deep, endless):
        with pytest.raises(NotPlainError, match="far too much"):
            plain(value)


def test_only_none_and_ellipsis_are_placeholders() -> None:
    assert is_placeholder(None)
    assert is_placeholder(...)
    assert not any(is_placeholder(value) for value in (0, "", [], {}, False, EqualsEverything()))


def test_naming_a_type_runs_no_code_of_its_class() -> None:
    class Meta(type):
        @property
        def __name__(cls) -> str:  # type: ignore[override]
            raise SystemExit

    value = Meta("Odd\n\x1b", (), {})()
    assert type_name(value) == r"'Odd\n\x1b'"
    assert kind(value).startswith("a value of type")
