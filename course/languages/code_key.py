"""Everything that a compiler sees of a Python function, as text: equal keys, equal PTX, line for line.

The byte code and the line of each instruction; the constants that it takes from around it, also from inside modules
and classes (``settings.TILE``); and the same of each device function that it calls.
"""

from __future__ import annotations

import enum
import hashlib
import sys
import types
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from course.simulator.kernels import lookup

__all__ = ["Code", "read_code"]

_KNOWN = ("builtins", "math", "numba", "numpy")
"""Modules whose version is in the name of an entry anyway, or that never change."""


@dataclass(frozen=True)
class Code:
    """What a compiler sees of a function."""

    key: str
    """Changes whenever the machine code, or the line of an instruction, could."""
    files: tuple[str, ...]
    """The files of the function and of its device functions. Their names are not in the key: a cell of a notebook
    has another one in each session."""


def read_code(function: types.FunctionType) -> Code:
    """Walk over a function and everything that it uses."""
    files: list[str] = []
    said = repr((sys.version_info[:2], list(_function(function, set(), files))))
    return Code(hashlib.sha256(said.encode()).hexdigest(), tuple(files))


def _function(function: types.FunctionType, seen: set[int], files: list[str]) -> Iterator[str]:
    if id(function) in seen:  # it calls itself
        return
    seen.add(id(function))
    code = function.__code__
    if code.co_filename not in files:
        files.append(code.co_filename)
    where = files.index(code.co_filename)
    yield f"{function.__module__}.{function.__qualname__} in file {where} {_value(function.__defaults__)}"
    yield from _code(code)
    for name in (*code.co_names, *code.co_freevars):
        try:
            value = lookup(function, name)
        except KeyError:  # an attribute's name, or no name at all: the compiler will say so
            continue
        yield from _named(name, value, code.co_names, seen, files)


def _named(name: str, value: Any, attributes: tuple[str, ...], seen: set[int], files: list[str]) -> Iterator[str]:
    """What a name stands for; of a module or class, those attributes that the function might read."""
    for inner in ("py_func", "_defn"):  # a kernel or device function; numba's intrinsic
        function = getattr(value, inner, None)
        if isinstance(function, types.FunctionType):
            yield f"{name}: {getattr(value, 'options', None) or getattr(value, 'targetoptions', None)!r}"
            yield from _function(function, seen, files)
            return
    if not isinstance(value, (types.ModuleType, type)):
        yield f"{name} = {_value(value)}"
        return
    yield f"{name} is {value.__name__}"
    if value.__name__.split(".")[0] in _KNOWN or id(value) in seen:
        return
    seen.add(id(value))
    for attribute in attributes:
        if hasattr(value, attribute):
            yield from _named(f"{name}.{attribute}", getattr(value, attribute), attributes, seen, files)


def _code(code: types.CodeType) -> Iterator[str]:
    yield repr((code.co_code, code.co_names, code.co_varnames, code.co_freevars, code.co_argcount, code.co_flags))
    yield repr((code.co_firstlineno, list(code.co_lines())))
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _code(constant)
        else:
            yield _value(constant)


def _value(value: Any) -> str:
    """A value as text, all of it (NumPy leaves out the middle of a long array)."""
    if isinstance(value, (np.ndarray, np.generic)):
        return f"{value.dtype!r} {value.shape} {value.tobytes().hex()}"
    if isinstance(value, tuple):
        return f"{type(value).__name__}({', '.join(map(_value, value))})"
    if isinstance(value, enum.Enum):
        return f"{type(value).__name__}.{value.name}({_value(value.value)})"
    return f"{type(value).__name__} {value!r}"
