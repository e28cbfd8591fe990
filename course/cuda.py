"""numba.cuda where there is a GPU, the simulator everywhere else: ``from course import cuda``.

Kernels are written as for numba.cuda. Names that mean something inside a kernel only (`grid`,
`threadIdx`, `shared` ...) are here too, and so is what numba does not have:

- `load4(a, i)` and `store4(a, i, values)`: elements i to i + 3 with one 128-bit instruction;
- `cp_async(tile, place, a, start, nbytes)`: start to copy 4, 8 or 16 bytes from ``a[start]`` on straight to shared
  memory, from ``tile[place]`` on. `place` and `start` are an index, or a tuple of them. `cp_async_commit()` makes one
  group of the thread's copies so far, and `cp_async_wait(n)` waits until at most n of its groups are on their way.
  From compute capability 8.0 on these are the card's own instructions; an older card copies through registers.

The choice is made at the first launch or device array, and printed once. COURSE_SIMULATE=1 forces the
simulator.
"""

from __future__ import annotations

import contextlib
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from course import backend as _backend
from course.backend import Event, KernelWarning, Stream
from course.errors import ArgumentTypeError, ArgumentValueError, UnknownNameError
from course.simulator.names import CUDA_NAMES, VECTORS, CudaName
from course.simulator.spelling import did_you_mean

__all__ = [
    "Event",
    "Kernel",
    "KernelWarning",
    "Stream",
    "default_stream",
    "detect",
    "device_array",
    "device_array_like",
    "event",
    "event_elapsed_time",
    "is_available",
    "jit",
    "mapped_array",
    "pinned",
    "pinned_array",
    "stream",
    "synchronize",
    "to_device",
]

_OPTIONS = {"device", "fastmath", "max_registers", "debug", "opt", "lineinfo", "inline", "cache", "link",
            "launch_bounds", "forceinline"}  # fmt: skip


class Kernel:
    """A kernel or device function. Launch a kernel as ``kernel[blocks, threads](*arguments)``."""

    def __init__(self, py_func: types.FunctionType, signature: Any, options: dict[str, Any]) -> None:
        self.py_func, self.signature, self.options = py_func, signature, options
        self.__name__, self.__doc__, self.__module__ = py_func.__name__, py_func.__doc__, py_func.__module__
        self._dispatcher: Any = None

    @property
    def device(self) -> bool:
        """Whether this is a device function, which only kernels may call."""
        return bool(self.options.get("device"))

    def __repr__(self) -> str:
        return f"<{'device function' if self.device else 'kernel'} {self.__name__}>"

    def __getitem__(self, configuration: Any) -> Callable[..., None]:
        """Configure a launch: [blocks, threads], [blocks, threads, stream] or [..., stream, shared bytes]."""
        if self.device:
            raise ArgumentTypeError(f"{self.__name__} is a device function: call it from a kernel.")
        if not isinstance(configuration, tuple) or not 2 <= len(configuration) <= 4:
            raise ArgumentValueError(
                f"{self.__name__}[...] needs blocks and threads, as in {self.__name__}[blocks, threads](...)."
            )  # fmt: skip
        grid, block, stream_, shared = (*configuration, None, 0)[:4] if len(configuration) < 4 else configuration

        def launch(*arguments: Any) -> None:
            _backend.choose().launch(self, grid, block, stream_, shared, arguments)

        return launch

    def __call__(self, *_: Any) -> Any:
        """Refuse: a kernel needs a launch configuration."""
        if self.device:
            raise ArgumentTypeError(f"{self.__name__} is a device function: call it from a kernel.")
        raise ArgumentTypeError(f"say how many threads: {self.__name__}[blocks, threads](...).")

    def forall(self, tasks: int, tpb: int = 0, stream: Any = None, sharedmem: int = 0) -> Callable[..., None]:
        """Configure a launch with at least one thread per task."""
        for name, number in (("tasks", tasks), ("tpb", tpb)):
            if not isinstance(number, (int, np.integer)):
                raise ArgumentTypeError(f"{name} is {number!r}: expected a whole number.")
        threads = tpb or 128
        return self[max(1, -(-tasks // threads)), threads, stream, sharedmem]

    def numba_dispatcher(self) -> Any:
        """The same function compiled by numba.cuda."""
        if self._dispatcher is None:
            from course.simulator.names import numba_cuda, to_numba

            options = {key: value for key, value in self.options.items() if key != "device" or value}
            decorate = numba_cuda().jit
            eager = self.signature is not None and _backend.choose().is_gpu
            decorated = decorate(self.signature, **options) if eager else decorate(**options)
            self._dispatcher = decorated(to_numba(self.py_func))
        return self._dispatcher


def jit(func_or_sig: Any = None, **options: Any) -> Any:
    """Make a kernel, or with ``device=True`` a device function: @cuda.jit, @cuda.jit(), @cuda.jit("void(f4[:])")."""
    unknown = sorted(set(options) - _OPTIONS)
    if unknown:
        raise ArgumentTypeError(f"cuda.jit has no option {', '.join(unknown)}: it takes {', '.join(sorted(_OPTIONS))}.")
    if isinstance(func_or_sig, types.FunctionType):
        return Kernel(func_or_sig, None, options)
    if isinstance(func_or_sig, Kernel):
        return func_or_sig

    def decorate(function: types.FunctionType) -> Kernel:
        return Kernel(function, func_or_sig, options)

    return decorate


def to_device(obj: npt.ArrayLike, stream: Any = None, copy: bool = True, to: Any = None) -> Any:
    """Copy an array to the device (into `to` when given); returns the device array."""
    if to is not None:
        to.copy_to_device(obj)
        return to
    return _backend.choose().to_device(np.asarray(obj))


def device_array(shape: Any, dtype: Any = np.float64, strides: Any = None, order: Any = "C", stream: Any = None) -> Any:
    """A new device array; its values are arbitrary."""
    if strides is not None:
        raise NotImplementedError("strides are not supported: allocate a contiguous array and slice it.")
    return _backend.choose().device_array(shape, dtype, order)


def device_array_like(ary: Any, stream: Any = None) -> Any:
    """A new device array of the same shape, type and order."""
    order = "C"
    if isinstance(ary, np.ndarray) and ary.flags.f_contiguous and not ary.flags.c_contiguous:
        order = "F"
    return device_array(ary.shape, ary.dtype, order=order)


def pinned_array(shape: Any, dtype: Any = np.float64, strides: Any = None, order: Any = "C") -> npt.NDArray[Any]:
    """A host array in pinned memory; in the simulator an ordinary one."""
    array: npt.NDArray[Any] = _backend.choose().pinned_array(shape, dtype, order)
    return array


def mapped_array(shape: Any, dtype: Any = np.float64, strides: Any = None, order: Any = "C", **_: Any) -> Any:
    """An array that host and device share; in the simulator an ordinary host array."""
    return _backend.choose().mapped_array(shape, dtype, order)


@contextlib.contextmanager
def pinned(*_: Any) -> Iterator[None]:
    """Pin host arrays for a while; speeds up copies to a GPU and changes nothing else."""
    yield


def synchronize() -> None:
    """Wait until everything launched has finished."""
    _backend.choose().synchronize()


def is_available() -> bool:
    """Whether kernels run on a real GPU."""
    return bool(_backend.choose().is_gpu)


def detect() -> bool:
    """Say what kernels run on; True for a real GPU."""
    chosen = _backend.choose()
    print(chosen.description)
    return bool(chosen.is_gpu)


def stream() -> Any:
    """A new stream."""
    return _backend.choose().stream()


def default_stream() -> Any:
    """The stream that launches use when none is given."""
    return _backend.choose().stream(default=True)


def event(timing: bool = True) -> Any:
    """A new event."""
    return _backend.choose().event()


def event_elapsed_time(start: Any, end: Any) -> float:
    """Milliseconds between two recorded events."""
    return float(start.elapsed_time(end))


def __getattr__(name: str) -> Any:
    if name in CUDA_NAMES:
        return CudaName(name)
    host = ", ".join(entry for entry in __all__ if entry.islower())
    inside = ", ".join(sorted(entry for entry in CUDA_NAMES - VECTORS.keys() if "." not in entry))
    meant = did_you_mean(name, [*__all__, *(entry for entry in CUDA_NAMES if "." not in entry)], "cuda.")
    raise UnknownNameError(f"course.cuda has no {name!r}.{meant} It offers on the host {host}; in a kernel {inside}.")


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in CUDA_NAMES if "." not in name)})
