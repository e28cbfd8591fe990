"""What numba says of a kernel: its types in numba's words, and numba's errors in ours. Imports numba.cuda."""

from __future__ import annotations

import contextlib
import inspect
import re
import types
from collections.abc import Iterator
from typing import Any

import numpy as np

from course.simulator.errors import KernelTypeError
from course.simulator.names import numba_cuda, to_numba
from course.simulator.types import ArrayType, TupleType, Type

__all__ = ["numba_type", "refusal", "some_device", "type_kernel"]


def numba_type(kind: Type) -> Any:
    """numba's object for a type."""
    from numba.core import types as numba_types
    from numba.np.numpy_support import from_dtype

    if isinstance(kind, np.dtype):
        return from_dtype(kind)
    if isinstance(kind, ArrayType):
        layout: Any = kind.layout
        return numba_types.Array(from_dtype(kind.dtype), kind.ndim, layout)
    if isinstance(kind, TupleType):
        return numba_types.BaseTuple.from_types(tuple(numba_type(item) for item in kind.items))
    return numba_types.none


def type_kernel(function: types.FunctionType, arguments: list[Type]) -> dict[str, Any]:
    """numba's own type map of a kernel: variable name -> numba type. Raises numba's errors."""
    numba_cuda()
    from numba.core import types as numba_types
    from numba.cuda.compiler import compile_cuda

    with some_device():
        twin = to_numba(function)
        result = compile_cuda(twin, numba_types.void, tuple(numba_type(kind) for kind in arguments), cc=(8, 0))
    return dict(result.type_annotation.typemap)


@contextlib.contextmanager
def some_device() -> Iterator[None]:
    """numba asks the GPU for its compute capability before it types a device function: 8.0 where there is none."""
    import numba.cuda.dispatcher

    dispatcher: Any = numba.cuda.dispatcher
    if numba_cuda().is_available():
        yield
        return
    original = dispatcher.get_current_device
    dispatcher.get_current_device = lambda: types.SimpleNamespace(compute_capability=(8, 0))
    try:
        yield
    finally:
        dispatcher.get_current_device = original


def refusal(error: Exception, function: types.FunctionType) -> KernelTypeError:
    """numba's error in one or two lines, to be raised: where, and what was wrong."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", str(error))
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    call = next((line[4:] for line in lines if line.startswith(">>> ")), None)
    reasons = [line.split(": ", 1)[1] for line in lines if re.match(r"(Numba)?\w*Error: ", line)]
    if call is not None:
        plain = re.sub(r"Literal\[(?:int|bool|str)\]\(([^)]*)\)", r"\1", call)
        what = f"It has no {plain}" + (f": {reasons[0]}" if reasons else "")
    else:
        what = (reasons or [line for line in lines if not line.startswith("Failed in")] or [type(error).__name__])[0]
    line = getattr(getattr(error, "loc", None), "line", None)
    if line is None:
        found = re.findall(r'File "[^"]*", line (\d+)', text)
        line = int(found[-1]) if found else _line_of_call(function, call)
    name = function.__name__
    said = f"numba cannot compile this for the given arguments. {what[:300]}"
    if line is None:
        return KernelTypeError(f"{name}: {said}")
    return KernelTypeError(said, line=line, kernel=name, filename=function.__code__.co_filename)


def _line_of_call(function: types.FunctionType, call: str | None) -> int | None:
    """The only line of a function that calls what numba complains about (numba does not always say where)."""
    if call is None:
        return None
    with contextlib.suppress(OSError):
        lines, first = inspect.getsourcelines(function)
        name = call.split("(")[0]
        places = [number for number, text in enumerate(lines, first) if re.search(rf"\b{re.escape(name)}\(", text)]
        return places[0] if len(places) == 1 else None
    return None
