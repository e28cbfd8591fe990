"""Types of a kernel's values. Scalars are NumPy dtypes (numba's scalar types have the same names)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from course.simulator.access import Space
from course.simulator.errors import KernelTypeError

__all__ = ["ArrayType", "NoneType", "RecordType", "TupleType", "Type", "describe", "typeof"]


@dataclass(frozen=True)
class ArrayType:
    """An array, or a view of one."""

    dtype: np.dtype[Any]
    ndim: int
    space: Space
    layout: str = "C"
    root: str = field(default="", compare=False)
    """Parameter or declared array that a view was taken of, where that is known."""


@dataclass(frozen=True)
class RecordType:
    """A reference to one record of a structured array."""

    dtype: np.dtype[Any]
    space: Space
    root: str = field(default="", compare=False)


@dataclass(frozen=True)
class TupleType:
    """A tuple of scalars, arrays or tuples; or one of numba's vector types (`float32x4`)."""

    items: tuple[Any, ...]
    vector: bool = False


@dataclass(frozen=True)
class NoneType:
    """What a function without `return value` gives."""


Type = Any
"""np.dtype (scalar), ArrayType, RecordType, TupleType or NoneType."""


def describe(kind: Type) -> str:
    """A type as numba writes it."""
    if isinstance(kind, np.dtype):
        return "record" if kind.names else kind.name
    if isinstance(kind, ArrayType):
        return f"array({describe(kind.dtype)}, {kind.ndim}d)"
    if isinstance(kind, TupleType):
        return f"({', '.join(describe(item) for item in kind.items)})"
    return "record" if isinstance(kind, RecordType) else "none"


def typeof(value: Any, name: str) -> Type:
    """Type that numba gives a scalar or tuple argument. Raises KernelTypeError for anything else."""
    if isinstance(value, (bool, np.bool_)):
        return np.dtype(bool)
    if isinstance(value, np.generic) and not isinstance(value, (np.void, np.str_, np.bytes_, np.object_)):
        return value.dtype
    if isinstance(value, int):
        if not -(2**63) <= value < 2**64:
            raise KernelTypeError(f"argument {name} is {value}: an integer argument must fit in 64 bits.")
        return np.dtype(np.int64 if value < 2**63 else np.uint64)
    if isinstance(value, float):
        return np.dtype(np.float64)
    if isinstance(value, complex):
        return np.dtype(np.complex128)
    if isinstance(value, tuple):
        return TupleType(tuple(typeof(item, name) for item in value))
    raise KernelTypeError(
        f"argument {name} is a {type(value).__name__}: a kernel takes NumPy arrays, device arrays, numbers and "
        "tuples of numbers. Convert it first, for example with np.asarray."
    )
