"""The Python function behind a kernel, and what the names in it stand for."""

from __future__ import annotations

import builtins
import types
from typing import Any

from course.errors import ArgumentTypeError

__all__ = ["lookup", "python_function"]


def python_function(kernel: Any) -> types.FunctionType:
    """The plain Python function behind a kernel of `course.cuda`, of `numba.cuda`, or itself."""
    function = getattr(kernel, "py_func", kernel)
    if not isinstance(function, types.FunctionType):
        raise ArgumentTypeError(
            f"expected a kernel (a function decorated with @cuda.jit), got {type(kernel).__name__}. "
            "Write @cuda.jit above the function."
        )
    return function


def lookup(function: types.FunctionType, name: str) -> Any:
    """What a name that the function does not assign stands for: a closure variable, global or builtin.

    Raises KeyError when there is none.
    """
    if name in function.__code__.co_freevars and function.__closure__ is not None:
        cell = function.__closure__[function.__code__.co_freevars.index(name)]
        try:
            return cell.cell_contents
        except ValueError:
            raise KeyError(name) from None
    if name in function.__globals__:
        return function.__globals__[name]
    return getattr(builtins, name) if hasattr(builtins, name) else _missing(name)


def _missing(name: str) -> Any:
    raise KeyError(name)
