"""Arguments of a launch: what the simulator takes, and the types that a kernel gets for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from course.simulator.device import DeviceArray, refuse_scattered
from course.simulator.errors import KernelTypeError
from course.simulator.signatures import argument_types
from course.simulator.types import ArrayType, Type, describe, typeof

__all__ = ["array_type", "signed", "typed"]


def typed(args: Sequence[Any], names: Sequence[str]) -> tuple[list[Any], list[Type]]:
    """Arguments as the simulator holds them, and their types; `names` are for what is said about a wrong one."""
    values = [_argument(value, name) for value, name in zip(args, names, strict=True)]
    return values, [_kind(value, name) for value, name in zip(values, names, strict=True)]


def _argument(value: Any, name: str) -> Any:
    if isinstance(value, np.ndarray):
        refuse_scattered(value, f"argument {name}")
    elif hasattr(value, "__cuda_array_interface__") and hasattr(value, "copy_to_host"):
        return DeviceArray.copy_of_gpu(value)
    return value


def _kind(value: Any, name: str) -> Type:
    if isinstance(value, (np.ndarray, DeviceArray)):
        return array_type(value, name)
    return typeof(value, name)


def array_type(array: Any, name: str) -> ArrayType:
    """Type of a host or device array argument. Raises KernelTypeError for elements no kernel can hold."""
    dtype = array.dtype
    if dtype.kind not in "biufcV" or (dtype.kind == "f" and dtype.itemsize > 8) or (
            dtype.kind == "c" and dtype.itemsize > 16) or (dtype.kind == "V" and not dtype.names):  # fmt: skip
        raise KernelTypeError(
            f"argument {name} has elements of type {dtype}: a kernel takes numbers, bools and records of them."
        )
    if not dtype.isnative:
        raise KernelTypeError(f"argument {name} has foreign byte order ({dtype}): use {dtype.newbyteorder('=')}.")
    inner = array.host_array if isinstance(array, DeviceArray) else array
    flags = inner.flags
    layout = "C" if flags.c_contiguous else "F" if flags.f_contiguous else "A"
    return ArrayType(dtype, array.ndim, "global", layout)


def signed(kernel: str, names: Sequence[str], kinds: list[Type], values: list[Any], signature: Any) -> Any:
    """Arguments as a declared signature wants them."""
    wanted = argument_types(signature)
    if len(wanted) != len(kinds):
        raise KernelTypeError(f"{kernel}: the signature has {len(wanted)} arguments, the launch {len(kinds)}.")
    result_kinds, result_values = [], []
    for name, kind, value, declared in zip(names, kinds, values, wanted, strict=True):
        if isinstance(declared, np.dtype) and isinstance(kind, np.dtype):
            result_kinds.append(declared)
            result_values.append(_declared(kernel, name, value, kind, declared))
            continue
        same = isinstance(declared, ArrayType) and isinstance(kind, ArrayType) and (
            (declared.dtype, declared.ndim) == (kind.dtype, kind.ndim) and declared.layout in ("A", kind.layout)
        )  # fmt: skip
        if not same:
            raise KernelTypeError(
                f"{kernel}: argument {name} is {describe(kind)}, the signature says {describe(declared)}."
            )
        result_kinds.append(kind)
        result_values.append(value)
    return result_kinds, result_values


def _declared(kernel: str, name: str, value: Any, kind: np.dtype[Any], declared: np.dtype[Any]) -> Any:
    """A number as a declared type: a whole number that is too large wraps, as ctypes (and so numba) makes it."""
    lossy = {"c": "fiub", "f": "iu"}.get(kind.kind, "")
    if declared.kind in lossy:
        raise KernelTypeError(
            f"{kernel}: argument {name} is {value} ({describe(kind)}), the signature says {describe(declared)}. "
            f"Convert it yourself, with {'abs(...) or .real' if kind.kind == 'c' else 'int(...)'}, or change the "
            "signature."
        )
    return np.asarray(value, kind).astype(declared)[()]
