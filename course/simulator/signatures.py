"""Declared signatures, `@cuda.jit("void(float32[:], int32)")`, as the types the engine uses. Imports numba."""

from __future__ import annotations

from typing import Any

import numpy as np

from course.simulator.errors import KernelTypeError
from course.simulator.types import ArrayType, NoneType, TupleType, Type

__all__ = ["argument_types", "result_type"]


def argument_types(signature: Any) -> list[Type]:
    """Types of the arguments of a signature: text, a numba signature, or a tuple of numba types."""
    return [_type(kind) for kind in _normalized(signature)[0]]


def result_type(signature: Any) -> Type | None:
    """Type of the result, None where the signature does not say."""
    result = _normalized(signature)[1]
    return None if result is None else _type(result)


def _normalized(signature: Any) -> Any:
    from numba.core import sigutils

    if isinstance(signature, list):
        if len(signature) != 1:
            raise KernelTypeError(f"{len(signature)} signatures: expected one, or none at all.")
        signature = signature[0]
    try:
        return sigutils.normalize_signature(signature)
    except Exception as error:
        raise KernelTypeError(
            f'the signature {signature!r} cannot be read: {error}. Write it as in "void(float32[:], int32)".'
        ) from None


def _type(kind: Any) -> Type:
    from numba.core import types
    from numba.np.numpy_support import as_dtype

    if isinstance(kind, types.Array):
        return ArrayType(np.dtype(as_dtype(kind.dtype)), kind.ndim, "global", kind.layout)
    if isinstance(kind, types.BaseTuple):
        items: Any = kind
        return TupleType(tuple(_type(item) for item in items))
    if kind == types.none:
        return NoneType()
    return np.dtype(as_dtype(kind))
