"""What an operator or function makes of its operands' types: asked of numba itself, remembered on disk.

It is resolved by numba's CUDA typing context, never by NumPy's promotion: int32 + int32 is int64, float32 * 2.0 is
float64. Answers are kept in a small file, so that a second session needs no second import of numba.cuda. No GPU and
no driver is needed.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import tempfile
import types
from collections.abc import Iterable, Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from course.simulator.errors import NumbaMissingError
from course.simulator.names import to_numba
from course.simulator.numba_types import refusal, type_kernel
from course.simulator.types import Type

__all__ = ["Resolver", "cache_folder", "resolver"]


Signature = tuple[tuple[str, ...], str]
"""Types the operands are converted to, and the type of the result."""


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
        raise NumbaMissingError(
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


def _validate(function: types.FunctionType, arguments: list[Type]) -> None:
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            type_kernel(function, arguments)
    except Exception as error:
        # Older versions look for NVIDIA's compiler once the types are settled: types are all we ask for.
        if type(error).__name__ != "NvvmSupportError":
            raise refusal(error, function) from None
