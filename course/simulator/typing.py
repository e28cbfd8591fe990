"""Types of a kernel's values: numba's rules, asked of numba itself, remembered on disk.

Scalars are NumPy dtypes (numba's scalar types have the same names). What an operator or function
makes of them is resolved by numba's CUDA typing context, never by NumPy's promotion: int32 + int32
is int64, float32 * 2.0 is float64. Answers are kept in a small file, so that a second session needs
no second import of numba.cuda. No GPU and no driver is needed.
"""

from __future__ import annotations

import contextlib
import inspect
import json
import os
import re
import sys
import tempfile
import types
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from course.errors import ArgumentTypeError
from course.simulator.access import Space
from course.simulator.names import numba_cuda, to_numba

__all__ = [
    "ArrayType",
    "KernelTypeError",
    "NoneType",
    "RecordType",
    "Resolver",
    "TupleType",
    "Type",
    "describe",
    "resolver",
    "typeof",
]


class KernelTypeError(ArgumentTypeError):
    """numba cannot type the kernel for these arguments: which line, and what was wrong."""


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

Signature = tuple[tuple[str, ...], str]
"""Types the operands are converted to, and the type of the result."""


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


class Resolver:
    """Answers "what is the type of f(a, b)?" as numba does; remembers every answer on disk."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._known: dict[str, Any] = {}
        self._changed = False
        if path is not None:
            with contextlib.suppress(OSError, ValueError):
                self._known = json.loads(path.read_text(encoding="utf-8"))

    def signature(self, function: Any, name: str, operands: Iterable[np.dtype[Any]]) -> Signature | None:
        """Resolve a function or operator on scalars; None where numba has no such operation."""
        types_ = [kind.name for kind in operands]
        key = f"{name}({','.join(types_)})"
        if key not in self._known:
            self._known[key] = _resolve(function, types_)
            self._changed = True
        answer = self._known[key]
        return None if answer is None else (tuple(answer[0]), answer[1])

    def unify(self, first: np.dtype[Any], second: np.dtype[Any]) -> np.dtype[Any] | None:
        """Type of a variable that is assigned both; None where numba refuses."""
        if first == second:
            return first
        key = f"unify({','.join(sorted((first.name, second.name)))})"
        if key not in self._known:
            with _context() as context:
                kind = context.unify_types(_numba_scalar(first.name), _numba_scalar(second.name))
                self._known[key] = None if kind is None else _name(kind)
            self._changed = True
        answer = self._known[key]
        return None if answer is None else np.dtype(answer)

    def validate(self, key: str, function: types.FunctionType, arguments: list[Type]) -> None:
        """Let numba type the whole kernel, once per text and argument types. Raises KernelTypeError."""
        key = f"kernel {key}"
        if key in self._known:
            return
        _validate(function, arguments)
        self._known[key] = True
        self._changed = True

    def save(self) -> None:
        """Write new answers to disk; quietly does nothing where that is not possible."""
        if not self._changed or self._path is None:
            return
        self._changed = False
        with contextlib.suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=self._path.parent, suffix=".json")
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(self._known, file)
            Path(name).replace(self._path)


def _versions() -> str:
    found = []
    for package in ("numba", "numba-cuda", "numpy"):
        with contextlib.suppress(metadata.PackageNotFoundError):
            found.append(f"{package}-{metadata.version(package)}")
    return "_".join([*found, f"py{sys.version_info.major}.{sys.version_info.minor}"])


def cache_folder() -> Path | None:
    """Where answers are kept: NUMBA_CACHE_DIR where set, else the user's cache; None if there is neither."""
    if os.environ.get("NUMBA_CACHE_DIR"):
        return Path(os.environ["NUMBA_CACHE_DIR"]) / "course"
    base = os.environ.get("LOCALAPPDATA") if os.name == "nt" else os.environ.get("XDG_CACHE_HOME")
    with contextlib.suppress(RuntimeError):
        return (Path(base) if base else Path.home() / ".cache") / "gpu-memory-course"
    return None


_resolver: list[Resolver] = []


def resolver() -> Resolver:
    """The resolver of this process."""
    if not _resolver:
        folder = cache_folder()
        _resolver.append(Resolver(None if folder is None else folder / f"types_{_versions()}.json"))
    return _resolver[0]


# ---- what follows imports numba.cuda ---------------------------------------------------------------


@contextlib.contextmanager
def _context() -> Iterator[Any]:
    """numba's CUDA typing context, with CUDA as the target of generic functions."""
    try:
        from numba.cuda.descriptor import cuda_target

        context = cuda_target.typing_context
        context.refresh()
    except Exception as error:
        raise RuntimeError(
            f"numba.cuda, which gives a kernel its types, cannot be loaded here ({type(error).__name__}: {error}). "
            "Install the versions of numba, numba-cuda and numpy that this course names."
        ) from error
    try:
        from numba.cuda.utils import numba_target_override as override
    except ImportError:  # numba's own numba.cuda, before it became a package of its own
        from numba.core.target_extension import target_override

        def override() -> Any:
            return target_override("cuda")

    with override():
        yield context


def _numba_scalar(name: str) -> Any:
    from numba.np.numpy_support import from_dtype

    return from_dtype(np.dtype(name))


def _name(kind: Any) -> str:
    name = str(kind)
    return "bool" if name == "boolean" else np.dtype(name).name


def _resolve(function: Any, operands: list[str]) -> list[Any] | None:
    with _context() as context:
        callee = to_numba(function)
        with contextlib.suppress(Exception):  # operators are known by themselves, the rest by their type
            callee = context.resolve_value_type(callee)
        try:
            found = context.resolve_function_type(callee, tuple(_numba_scalar(name) for name in operands), {})
        except Exception:
            found = None
        if found is None:
            return None
        try:
            return [[_name(kind) for kind in found.args], _name(found.return_type)]
        except TypeError:  # a tuple or none: the caller knows better
            return [[_name(kind) for kind in found.args], "bool"]


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


def _validate(function: types.FunctionType, arguments: list[Type]) -> None:
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            type_kernel(function, arguments)
    except Exception as error:
        # Older versions look for NVIDIA's compiler once the types are settled: types are all we ask for.
        if type(error).__name__ != "NvvmSupportError":
            raise KernelTypeError(shorten(error, function)) from None


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


def shorten(error: Exception, function: types.FunctionType) -> str:
    """numba's error in one or two lines: where, and what was wrong."""
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
        line = found[-1] if found else _line_of_call(function, call)
    place = f"{function.__name__}, line {line}" if line else function.__name__
    return f"{place}: numba cannot compile this for the given arguments. {what[:300]}"
