"""Names of numba.cuda without numba.cuda: `course.cuda.grid` costs no import until numba is asked.

`CudaName("atomic.add")` stands for ``numba.cuda.atomic.add``. Kernels may hold either; both lead to the
same path here, and `to_numba` turns a function that uses ours into one that numba compiles.
"""

from __future__ import annotations

import importlib
import sys
import types
from typing import Any

from course.errors import OutsideKernelError

__all__ = ["CUDA_NAMES", "VECTORS", "CudaName", "cuda_path", "is_cuda_module", "numba_cuda", "numba_has", "to_numba"]

_PLAIN = (
    "threadIdx", "blockIdx", "blockDim", "gridDim", "grid", "gridsize", "laneid", "warpsize",
    "syncthreads", "syncthreads_count", "syncthreads_and", "syncthreads_or", "syncwarp",
    "threadfence", "threadfence_block", "threadfence_system",
    "shfl_sync", "shfl_up_sync", "shfl_down_sync", "shfl_xor_sync",
    "all_sync", "any_sync", "eq_sync", "ballot_sync", "match_any_sync", "match_all_sync", "activemask", "lanemask_lt",
    "popc", "clz", "brev", "ffs", "fma", "cbrt", "selp", "load4", "store4",
    "cp_async", "cp_async_commit", "cp_async_wait",
)  # fmt: skip
_MEMBERS = {
    "shared": ("array",), "local": ("array",), "const": ("array_like",),
    "atomic": ("add", "sub", "max", "min", "nanmax", "nanmin", "and_", "or_", "xor", "exch", "inc", "dec", "cas",
               "compare_and_swap"),
    "fp16": ("hadd", "hsub", "hmul", "hdiv", "hfma", "hneg", "habs", "hmax", "hmin"),
}  # fmt: skip
VECTORS = {
    f"{kind}x{lanes}": (kind, lanes)
    for kind in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64")
    for lanes in (2, 3, 4)
} | {
    f"{short}{lanes}": (kind, lanes)
    for short, kind in (("int", "int32"), ("uint", "uint32"), ("float", "float32"), ("double", "float64"))
    for lanes in (2, 3, 4)
}
"""numba's vector types: ``float32x4``, also called ``float4``."""
CUDA_NAMES: frozenset[str] = frozenset(_PLAIN) | _MEMBERS.keys() | VECTORS.keys() | {
    f"{name}.{member}" for name, members in _MEMBERS.items() for member in members
}  # fmt: skip
"""Everything of numba.cuda (and of this course's own, see `_OWN`) that a kernel may use."""
_OWN = {
    "load4": "wide", "store4": "wide",
    "cp_async": "gpu_copies", "cp_async_commit": "gpu_copies", "cp_async_wait": "gpu_copies",
}  # fmt: skip
"""What numba.cuda does not have -> the module here that makes it for a GPU."""


class CudaName:
    """A name of numba.cuda that means something inside a kernel only."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __repr__(self) -> str:
        return f"cuda.{self.path}"

    def __getattr__(self, name: str) -> CudaName:
        path = f"{self.__dict__['path']}.{name}"
        if name.startswith("__") or path not in CUDA_NAMES:
            raise AttributeError(f"cuda.{self.__dict__['path']} has no {name!r}")
        return CudaName(path)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CudaName) and other.path == self.path

    def __hash__(self) -> int:
        return hash(self.path)

    def __call__(self, *_: Any, **__: Any) -> Any:
        """Refuse: the name has a meaning in a kernel only."""
        raise OutsideKernelError(
            f"cuda.{self.path} works inside a kernel only: call it in a function decorated with @cuda.jit."
        )


def numba_cuda() -> Any:
    """Import numba.cuda."""
    from numba import cuda

    return cuda


def is_cuda_module(value: Any) -> bool:
    """Whether a value is numba.cuda or course.cuda."""
    return isinstance(value, types.ModuleType) and value.__name__ in ("numba.cuda", "course.cuda")


def cuda_path(value: Any) -> str | None:
    """Path of a numba.cuda object (imported by name, say), of a CudaName; None for anything else."""
    if isinstance(value, CudaName):
        return value.path
    cuda = sys.modules.get("numba.cuda")
    if cuda is None:
        return None
    for path in CUDA_NAMES:
        target = _attribute(cuda, path)
        if target is not None and target is value:
            return path
    return None


def _attribute(value: Any, path: str) -> Any:
    for part in path.split("."):
        value = getattr(value, part, None)
        if value is None:
            return None
    return value


def numba_has(path: str) -> bool:
    """Whether `cuda.<path>` is a name of numba.cuda. Imports numba."""
    return _attribute(numba_cuda(), path) is not None


def to_numba(value: Any) -> Any:
    """The same thing in numba's words: functions are rebuilt over numba.cuda, device functions are compiled."""
    if isinstance(value, CudaName):
        return _own(value.path) if value.path in _OWN else _attribute(numba_cuda(), value.path)
    if isinstance(value, types.ModuleType):
        return _module_twin() if value.__name__ == "course.cuda" else value
    if isinstance(value, types.FunctionType):
        return _function_twin(value)
    if hasattr(value, "numba_dispatcher"):
        return value.numba_dispatcher()
    if isinstance(value, tuple) and any(to_numba(item) is not item for item in value):
        return tuple(to_numba(item) for item in value)
    return value


def _module_twin() -> Any:
    """numba.cuda, plus what this course adds to it."""
    cuda = numba_cuda()
    for name in _OWN:
        if not hasattr(cuda, name):
            setattr(cuda, name, _own(name))
    return cuda


def _own(name: str) -> Any:
    return getattr(importlib.import_module(f"course.simulator.{_OWN[name]}"), name)


def _function_twin(function: types.FunctionType) -> types.FunctionType:
    names = set(function.__code__.co_names)
    changed = {name: function.__globals__[name] for name in names if name in function.__globals__}
    changed = {name: twin for name, value in changed.items() if (twin := _safe_twin(value)) is not value}
    cells = function.__closure__ or ()
    contents = [_contents(cell) for cell in cells]
    twins = [_safe_twin(content) for content in contents]
    if not changed and all(new is old for new, old in zip(twins, contents, strict=True)):
        return function
    closure = tuple(
        cell if new is old else types.CellType(new) for cell, new, old in zip(cells, twins, contents, strict=True)
    )
    twin = types.FunctionType(
        function.__code__,
        {**function.__globals__, **changed},
        function.__name__,
        function.__defaults__,
        closure or None,
    )
    twin.__qualname__, twin.__module__ = function.__qualname__, function.__module__
    return twin


def _safe_twin(value: Any) -> Any:
    """Only what this course made is replaced; a plain function among the globals stays what it is."""
    if isinstance(value, (types.FunctionType, type)):
        return value
    return to_numba(value)


def _contents(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return None
