"""A student's value, turned into plain data that can be trusted, or refused in words.

Nothing here calls a method of the value: only exact types count, so that an object that equals
everything, a subclass with its own rules or an endless iterator is refused by its type alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

__all__ = ["NotPlainError", "Plain", "is_placeholder", "kind", "plain", "type_name"]

Plain: TypeAlias = "int | float | str | bool | list[Plain] | tuple[Plain, ...] | frozenset[Plain] | dict[Plain, Plain]"

_MOST_BITS = 128
_MOST_CHARACTERS = 10_000
_MOST_ITEMS = 1_000
_DEEPEST = 6

_NUMPY_SCALARS = frozenset(np.dtype(code).type for code in np.typecodes["AllInteger"] + np.typecodes["Float"] + "?U")
_KINDS: dict[type, str] = {
    bool: "True or False",
    int: "a whole number",
    float: "a number",
    str: "text",
    list: "a list",
    tuple: "a tuple",
    set: "a set",
    frozenset: "a set",
    dict: "a dict",
}
# `type(value).__name__` could run a metaclass of the student; this reads the slot itself.
_class_name: Callable[[type], str] = type.__dict__["__name__"].__get__


class NotPlainError(ValueError):
    """A value that is no plain data; the message says what came and what to give instead."""


def is_placeholder(value: object) -> bool:
    """Whether `value` is None or `...`: the question is not answered yet."""
    return value is None or value is Ellipsis


def kind(value: object) -> str:
    """The type of a value in a learner's words: 'text', 'a list', 'a value of type Foo'."""
    return _KINDS.get(type(value)) or f"a value of type {type_name(value)}"


def type_name(value: object) -> str:
    """The name of the value's class, printable and short, without running code of that class."""
    name = str.__str__(_class_name(type(value)))[:60]
    return name if name.isprintable() else ascii(name)


def plain(value: object) -> Plain:
    """`value` as int, float, str, bool, or list, tuple, frozenset, dict of these.

    NumPy scalars and 0-d arrays become Python numbers, a set becomes a frozenset.
    Raises NotPlainError for everything else: other types and subclasses, nan and inf, numbers and
    containers too large or too deeply nested to be an answer.
    """
    return _Reader().read(value, depth=0)


class _Reader:
    """One walk through a value, with a bound on the number of items seen."""

    def __init__(self) -> None:
        self.items = 0

    def read(self, value: Any, depth: int) -> Plain:
        exact: type = type(value)
        if exact is bool:
            return bool(value)
        if exact is int:
            return _bounded_int(value)
        if exact is float:
            return _finite(value)
        if exact is str:
            return _bounded_text(value)
        if exact in (list, tuple, set, frozenset, dict):
            return self._container(value, exact, depth)
        if exact in _NUMPY_SCALARS:
            # A long double's item() is a long double again.
            return self.read(float(value) if exact is np.longdouble else value.item(), depth)
        if exact is np.ndarray:
            if value.ndim == 0 and value.dtype.type in _NUMPY_SCALARS:
                return self.read(value[()], depth)
            raise NotPlainError("a NumPy array is no answer: give plain numbers, such as int(x) of one element.")
        if is_placeholder(value):
            raise NotPlainError("not answered yet.")
        raise NotPlainError(f"{kind(value)} is no answer: give plain numbers, text, or a list of these.")

    def _container(self, value: Any, exact: type, depth: int) -> Plain:
        self.items += len(value)
        if depth >= _DEEPEST or self.items > _MOST_ITEMS:
            raise NotPlainError("the value holds far too much to be an answer: give only what the question asks for.")
        if exact is dict:
            return {self.read(key, depth + 1): self.read(item, depth + 1) for key, item in list(value.items())}
        items = [self.read(item, depth + 1) for item in list(value)]
        return items if exact is list else tuple(items) if exact is tuple else frozenset(items)


def _bounded_int(value: int) -> int:
    if value.bit_length() > _MOST_BITS:
        raise NotPlainError("the number is far too large to be an answer.")
    return value


def _finite(value: float) -> float:
    if math.isfinite(value):
        return value
    raise NotPlainError("the number is not finite (nan or inf): look for a division by zero.")


def _bounded_text(value: str) -> str:
    if len(value) > _MOST_CHARACTERS:
        raise NotPlainError("the text is far too long to be an answer.")
    return value
