"""A compiled kernel: its code as closures, its variables, its memory sites and static arrays."""

from __future__ import annotations

import ast
import types
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from course.errors import SimulatorFault
from course.simulator.access import Site, Space
from course.simulator.errors import KernelTypeError, UnsupportedKernel
from course.simulator.source.frontend import Source
from course.simulator.source.lanes import Mask, State, Value
from course.simulator.types import Type

__all__ = ["NOTHING", "Evaluate", "Execute", "Expr", "Place", "Program", "Scope", "fault"]

Evaluate = Callable[[State, Mask], Value]
Execute = Callable[[State, Mask], Mask]

NOTHING: Any = object()
"""Of an expression whose value is not known before the kernel runs."""


@dataclass
class Expr:
    """A compiled expression."""

    run: Evaluate
    kind: Type
    """Its type; None for what exists while compiling only (a module, function or dtype)."""
    const: Any = NOTHING
    """Its value where that is known: a literal, a module, a function ..."""
    pure: bool = False
    """Whether evaluating it for more lanes than needed does no harm: no memory, no call."""

    @property
    def known(self) -> bool:
        """Whether the value is known while compiling."""
        return self.const is not NOTHING


@dataclass(frozen=True)
class Place:
    """A shared, local or constant array that the kernel declares."""

    name: str
    space: Space
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    address: int
    dynamic: bool = False
    data: Any = None
    """Contents of a constant array."""

    @property
    def nbytes(self) -> int:
        """Bytes of the array (0: dynamic shared memory, known at the launch)."""
        return int(np.prod(self.shape)) * self.dtype.itemsize


@dataclass
class Scope:
    """One function (the kernel, or a device function for certain argument types) while it is compiled."""

    source: Source
    fresh: set[ast.AST]
    slots: dict[str, int]
    env: dict[str, tuple[Type, Any]]
    """Type, and value where known, of each variable at this point of the text."""
    caller: Scope | None
    returns: list[Type] = field(default_factory=list)
    ended: bool = False
    """Whether this point cannot be reached (after return, break, continue)."""

    def refuse(self, node: ast.AST, message: str) -> UnsupportedKernel:
        """An error about a construct, to be raised."""
        return UnsupportedKernel(message, line=getattr(node, "lineno", None), kernel=self.source.name,
                                 filename=self.source.filename)  # fmt: skip

    def fault(self, node: ast.AST, error: Exception) -> SimulatorFault:
        """An error of the simulator itself, to be raised."""
        return fault(error, line=getattr(node, "lineno", None), kernel=self.source.name, filename=self.source.filename)

    def mistyped(self, node: ast.AST, message: str) -> KernelTypeError:
        """An error about types, to be raised."""
        return KernelTypeError(message, line=getattr(node, "lineno", None), kernel=self.source.name,
                               filename=self.source.filename)  # fmt: skip


def fault(error: Exception, *, line: int | None, kernel: str, filename: str) -> SimulatorFault:
    """What is said where the simulator itself fails."""
    return SimulatorFault(
        f"the simulator cannot run this line ({type(error).__name__}: {error}). Write it in simpler steps, one thing "
        "a line; and please report it: that is a fault of the simulator.",
        line=line, kernel=kernel, filename=filename,
    )  # fmt: skip


@dataclass
class Program:
    """A kernel compiled for certain argument types."""

    source: Source
    arguments: list[Type]
    slots: int = 0
    parameter_slots: list[int] = field(default_factory=list)
    body: Execute | None = None
    sites: dict[Any, Site] = field(default_factory=dict)
    places: dict[Any, Place] = field(default_factory=dict)
    sources: list[Source] = field(default_factory=list)
    """The kernel and its device functions."""
    texts: dict[str, str] = field(default_factory=dict)
    """Text of every function, and every outside value they use: what decides whether numba was asked before."""
    read_only: set[str] | None = None
    """Array parameters of which the kernel only reads elements, worked out at the first launch."""
    variables: dict[tuple[str, str], set[str]] = field(default_factory=dict)
    """Types that each variable of each function takes (compared with numba's in the tests)."""

    def site(self, scope: Scope, node: ast.AST, space: Space, kind: Literal["load", "store", "atomic"],
             array: str, *, text: str = "", asynchronous: bool = False) -> Site:  # fmt: skip
        """The site of an access; the same one when the text is compiled again. `text`: instead of the node's."""
        line, column = getattr(node, "lineno", 0), getattr(node, "col_offset", 0)
        key = (scope.source.name, line, column, getattr(node, "end_col_offset", 0), kind, space)
        if key not in self.sites:
            self.sites[key] = Site(len(self.sites), line, column,
                                   text or scope.source.text(node), space, kind, array, scope.source.name,
                                   asynchronous)  # fmt: skip
        return self.sites[key]

    def slot(self) -> int:
        """A new variable."""
        self.slots += 1
        return self.slots - 1

    def bytes_of(self, space: Space) -> int:
        """Bytes of all arrays declared in a space."""
        ends = [place.address + place.nbytes for place in self.places.values() if place.space == space]
        return max(ends, default=0)

    def remember(self, function: types.FunctionType, name: str, value: Any) -> None:
        """Note an outside value that the kernel uses."""
        plain = (int, float, complex, str, bool, tuple, np.generic, np.dtype)
        text = repr(value) if isinstance(value, plain) else getattr(value, "__name__", type(value).__name__)
        if isinstance(value, np.ndarray):
            text = f"{value.dtype} {value.shape}"
        self.texts[f"{function.__qualname__}.{name}"] = text
