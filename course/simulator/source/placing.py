"""Arguments in simulated memory: the views that a kernel gets, and who takes the values back."""

from __future__ import annotations

import ast
import math
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from course.errors import ArgumentValueError
from course.simulator.access import ArrayInfo, Launch
from course.simulator.device import Addresses, DeviceArray
from course.simulator.errors import KernelTypeError
from course.simulator.source.compiler.program import Program
from course.simulator.source.memory import View
from course.simulator.types import ArrayType, TupleType, Type

__all__ = ["GiveBack", "described", "place", "view_of"]

GiveBack = tuple[Callable[[Any], None], Any]
"""Who takes the values after the launch, and the array that holds them."""


def place(program: Program, values: list[Any]) -> tuple[list[Any], list[View], list[GiveBack]]:
    """Arguments as the engine holds them, the views among them, and the working copies to give back."""
    addresses = Addresses()
    if program.read_only is None:
        program.read_only = _never_written(program)
    arguments: list[Any] = []
    views: list[View] = []
    copies: list[GiveBack] = []
    for name, kind, value in zip(program.source.parameters, program.arguments, values, strict=True):
        if isinstance(value, DeviceArray):
            arguments.append(view_of(value.host_array, value.buffer, value.address, name))
            views.append(arguments[-1])
            if value.origin is not None:
                copies.append((value.origin.copy_to_device, value.host_array))
        elif isinstance(value, np.ndarray):
            work = value
            if name not in program.read_only:
                if not value.flags.writeable:
                    raise ArgumentValueError(f"argument {name} is read-only: the kernel may write to it. Pass a copy.")
                work = value.copy(order="K")
                copies.append((partial(np.copyto, value), work))
            buffer = work.reshape(-1, order="A").view(np.uint8) if work.size else np.empty(0, np.uint8)
            arguments.append(view_of(work, buffer, addresses.take(work.nbytes), name))
            views.append(arguments[-1])
        else:
            arguments.append(_scalar(value, kind))
    return arguments, views, copies


def view_of(array: npt.NDArray[Any], buffer: npt.NDArray[np.uint8], address: int, name: str) -> View:
    """An array inside a byte buffer that starts at a device address, as a kernel sees it."""
    size = array.dtype.itemsize
    offset = array.ctypes.data - buffer.ctypes.data if array.size else 0
    rest = offset % size
    if any(stride % size for stride in array.strides) and array.size:
        raise KernelTypeError(
            f"argument {name} has strides {array.strides}, which are no multiples of its {size}-byte elements: "
            "pass a contiguous copy."
        )
    flat = buffer[rest : rest + (len(buffer) - rest) // size * size].view(array.dtype)
    strides = tuple(stride // size for stride in array.strides)
    return View(flat, "global", name, address + rest, size, (offset - rest) // size, array.shape, strides)


def _scalar(value: Any, kind: Type) -> Any:
    if isinstance(kind, TupleType):
        return tuple(_scalar(item, inner) for item, inner in zip(value, kind.items, strict=True))
    return kind.type(value)


def _never_written(program: Program) -> set[str]:
    """Array parameters of which the kernel only reads elements, size and shape: they need no working copy."""
    tree, harmless, total = program.source.tree, Counter[str](), Counter[str]()
    ndims = {name: kind.ndim for name, kind in zip(program.source.parameters, program.arguments, strict=True)
             if isinstance(kind, ArrayType) and not kind.dtype.names}  # fmt: skip
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            total[node.id] += 1
        inner: Any = None
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load) and isinstance(node.value, ast.Name):
            given = len(node.slice.elts) if isinstance(node.slice, ast.Tuple) else 1
            whole = not any(isinstance(child, ast.Slice) for child in ast.walk(node.slice))
            inner = node.value if whole and given == ndims.get(node.value.id) else None
        elif isinstance(node, ast.Attribute) and node.attr in ("shape", "size", "ndim"):
            inner = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "len" and node.args:
            inner = node.args[0]
        if isinstance(inner, ast.Name):
            harmless[inner.id] += 1
    return {name for name in ndims if total[name] == harmless[name]}


def described(program: Program, grid: tuple[int, int, int], block: tuple[int, int, int], warp_lanes: int,
              views: list[View], static: int, dynamic: int) -> Launch:  # fmt: skip
    """What observers are told of the launch."""
    arrays = [
        ArrayInfo(view.name, "global", view.base + int(view.offset) * view.unit,
                  math.prod(view.shape) * view.flat.dtype.itemsize, view.flat.dtype, view.shape)
        for view in views
    ]  # fmt: skip
    for space in ("constant", "shared", "local"):
        for held in program.places.values():
            if held.space == space:
                shape = (dynamic // held.dtype.itemsize,) if held.dynamic else held.shape
                address = static if held.dynamic else held.address
                nbytes = math.prod(shape) * held.dtype.itemsize
                arrays.append(ArrayInfo(held.name, held.space, address, nbytes, held.dtype, shape))
    source = program.source
    return Launch(source.name, source.filename, source.lines, source.first_line, grid, block, warp_lanes,
                  tuple(program.sites.values()), tuple(arrays), static + dynamic)  # fmt: skip
