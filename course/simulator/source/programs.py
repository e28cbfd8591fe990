"""Kernels compiled for the types of their arguments, and remembered."""

from __future__ import annotations

import hashlib
import inspect
import weakref
from collections.abc import Sequence
from typing import Any

from course.errors import ArgumentTypeError
from course.simulator.arguments import signed, typed
from course.simulator.kernels import python_function
from course.simulator.source.compiler.engine import compile_kernel
from course.simulator.source.compiler.program import Program
from course.simulator.source.frontend import read_source
from course.simulator.source.resolver import resolver
from course.simulator.types import ArrayType, Type

__all__ = ["prepare"]

_programs: weakref.WeakKeyDictionary[Any, dict[Any, Program]] = weakref.WeakKeyDictionary()


def prepare(kernel: Any, args: Sequence[Any], signature: Any = None) -> tuple[Program, list[Any]]:
    """The kernel compiled for these arguments (remembered), and the arguments as the types demand."""
    function = python_function(kernel)
    code = function.__code__
    names = code.co_varnames[: code.co_argcount]
    if code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS):
        read_source(kernel)  # says why, with the line
    if len(args) != len(names):
        raise ArgumentTypeError(
            f"{function.__name__} takes {len(names)} argument(s) ({', '.join(names)}), got {len(args)}."
        )  # fmt: skip
    values, kinds = typed(args, names)
    if signature is not None:
        kinds, values = signed(function.__name__, names, kinds, values, signature)
    known = _programs.setdefault(function, {})
    key = (tuple(kinds), tuple(_aligned(kind) for kind in kinds))
    if key not in known:
        program = compile_kernel(kernel, kinds)
        text = repr((sorted(program.texts.items()), [repr(kind) for kind in kinds]))
        resolver().validate(hashlib.sha256(text.encode()).hexdigest(), function, kinds)
        resolver().save()
        known[key] = program
    return known[key], values


def _aligned(kind: Type) -> bool:
    """Whether these are aligned records; NumPy calls packed ones of the same fields equal."""
    return isinstance(kind, ArrayType) and bool(kind.dtype.isalignedstruct)
