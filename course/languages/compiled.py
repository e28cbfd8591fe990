"""What a front end gives: the PTX of one kernel, and how the arguments of a launch get into its parameters."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from course.languages.tools import NoCompilerError

__all__ = ["Compiled", "Declared", "Parameter", "declared", "entries"]

Number = Callable[[Any, int], Any]
"""(the value of an argument, the device address of its data) -> a NumPy scalar."""

_ENTRY = re.compile(r"\.entry\s+([\w$.%]+)\s*\(([^)]*)\)|\.entry\s+([\w$.%]+)\s*(?=[.{\s])")
_PARAMETER = re.compile(
    r"\.param\s+(?:\.align\s+(\d+)\s+)?\.(\w+)\s+(?:\.ptr\s+(?:\.[a-z]+\s+)??(?:\.align\s+\d+\s+)?)?"
    r"([\w$%]+)\s*(?:\[\s*(\d+)\s*\])?"
)


@dataclass(frozen=True)
class Declared:
    """One `.param` of an entry, as the PTX declares it."""

    name: str
    kind: str
    """Type without its dot: ``u64``, ``f32``, ``b8``."""
    bytes: int
    """Bytes of an element times the elements of an array."""
    align: int

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy type of a number in it (of one element, for an array)."""
        letter = {"f": "f", "s": "i"}.get(self.kind[0], "u")
        return np.dtype(f"{letter}{int(self.kind[1:]) // 8}")


@dataclass(frozen=True)
class Parameter:
    """One `.param` and what a launch puts into it."""

    declared: Declared
    argument: str
    """Name of the argument that it belongs to."""
    part: str
    """Which part of the argument: ``data``, ``shape[0]``, ``[1].real``; '' for all of it."""
    number: Number = field(repr=False, compare=False)


@dataclass(frozen=True)
class Compiled:
    """A kernel as PTX."""

    language: str
    name: str
    ptx: str
    entry: str
    """Name of the kernel in the PTX."""
    cc: tuple[int, int]
    filename: str
    first_line: int
    """Line of the file or cell on which `lines` begin."""
    lines: tuple[str, ...]
    parameters: tuple[Parameter, ...]
    max_registers: int | None = None

    def parameters_of(self, argument: str) -> tuple[Parameter, ...]:
        """The parameters that an argument of the kernel became."""
        return tuple(parameter for parameter in self.parameters if parameter.argument == argument)


def entries(ptx: str) -> list[str]:
    """Names of the kernels in a PTX text."""
    return [found[1] or found[3] for found in _ENTRY.finditer(ptx)]


def declared(ptx: str, entry: str) -> tuple[Declared, ...]:
    """The `.param`s of a kernel, in order."""
    for found in _ENTRY.finditer(ptx):
        if entry in (found[1], found[3]):
            return tuple(_declared(*parameter) for parameter in _PARAMETER.findall(found[2] or ""))
    raise NoCompilerError(f"the PTX has no kernel {entry}; it has {_names(entries(ptx))}")


def _declared(align: str, kind: str, name: str, count: str) -> Declared:
    size = int(kind[1:]) // 8
    return Declared(name, kind, size * int(count or 1), int(align or size))


def _names(names: Sequence[str]) -> str:
    return ", ".join(names) or "none"
