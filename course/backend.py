"""Where kernels run: on a real GPU through numba.cuda, or in the simulator. Chosen once, and said once."""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["Event", "Gpu", "KernelWarning", "Simulator", "Stream", "choose"]


class KernelWarning(UserWarning):
    """A launch in the simulator finished, but some thread did something that is wrong on a GPU."""


_chosen: list[Any] = []


def choose() -> Any:
    """The backend of this process: a usable GPU unless COURSE_SIMULATE=1, else the simulator."""
    if not _chosen:
        if os.environ.get("COURSE_SIMULATE", "") not in ("", "0"):
            _chosen.append(Simulator("COURSE_SIMULATE is set: kernels run in the simulator."))
        else:
            reason = _why_no_gpu()
            _chosen.append(Gpu() if reason is None else Simulator(f"{reason} Kernels run in the simulator."))
        print(_chosen[0].description)
    return _chosen[0]


def _why_no_gpu() -> str | None:
    """What keeps kernels from a GPU; None when a small one ran there. numba is only loaded where a driver is."""
    library = {"win32": "nvcuda.dll", "darwin": ""}.get(sys.platform, "libcuda.so.1")
    try:
        if not library:
            return "There are no NVIDIA GPUs on this system."
        ctypes.CDLL(library)
    except OSError:
        return "No NVIDIA driver is installed here."
    try:
        from numba import cuda

        if not cuda.is_available():
            return "No usable NVIDIA GPU was found."

        @cuda.jit  # type: ignore[untyped-decorator]
        def probe(x: Any) -> None:
            x[0] = 1

        result = np.zeros(1, np.int32)
        with _small_launches_welcome():
            probe[1, 1](result)
        cuda.synchronize()
    except Exception as error:
        return f"The GPU cannot be used ({_first_line(error)})."
    return None if result[0] == 1 else "The GPU gave a wrong answer to a first small kernel."


@contextlib.contextmanager
def _small_launches_welcome() -> Iterator[None]:
    """Without numba's warnings about small grids and host arrays: lessons are made of them."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*(under-utilization|copy overhead)")
        yield


def _first_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0] if lines else 'no message'}"[:200]


class Stream:
    """A queue of launches; in the simulator everything runs at once, in order."""

    def synchronize(self) -> None:
        """Nothing to wait for: every launch is finished when it returns."""

    @contextlib.contextmanager
    def auto_synchronize(self) -> Iterator[Stream]:
        """Wait at the end of the block."""
        yield self


class Event:
    """A point in time, for measuring. In the simulator it measures the simulator."""

    def __init__(self) -> None:
        self._time: float | None = None

    def record(self, stream: Any = None) -> None:
        """Take the time."""
        self._time = time.perf_counter()

    def synchronize(self) -> None:
        """Wait until the event has happened."""

    def wait(self, stream: Any = None) -> None:
        """Make later launches wait for the event."""

    def query(self) -> bool:
        """Whether the event has happened."""
        return self._time is not None

    def elapsed_time(self, end: Event) -> float:
        """Milliseconds from this event to `end`."""
        if self._time is None or end._time is None:
            raise RuntimeError("record both events first: event.record().")
        return 1000 * (end._time - self._time)


class Simulator:
    """Runs kernels in `course.simulator`."""

    is_gpu = False

    def __init__(self, description: str) -> None:
        self.description = description

    def launch(self, kernel: Any, grid: Any, block: Any, stream: Any, shared: Any, arguments: tuple[Any, ...]) -> None:
        """Run a kernel to its end; what is wrong on a GPU becomes a warning."""
        from course.simulator.source import run

        info = run(kernel, grid, block, arguments, shared_bytes=shared or 0, signature=kernel.signature)
        for finding in info.findings:
            x, y, z = finding.block or (0, 0, 0)
            count = f" ({finding.count} threads in all)" if finding.count > 1 else ""
            warnings.warn(
                f"{kernel.__name__}, line {finding.line}: {finding.message} Thread {finding.lane} of block "
                f"({x}, {y}, {z}){count}. {finding.remedy}",
                KernelWarning,
                stacklevel=3,
            )

    def to_device(self, array: npt.NDArray[Any]) -> Any:
        """A device array with a copy of the values."""
        from course.simulator.device import DeviceArray

        return DeviceArray.copy_of(array)

    def device_array(self, shape: Any, dtype: Any, order: Any) -> Any:
        """A device array with arbitrary values."""
        from course.simulator.device import DeviceArray

        return DeviceArray.allocate(shape, dtype, order)

    def pinned_array(self, shape: Any, dtype: Any, order: Any) -> Any:
        """An ordinary host array."""
        return np.empty(shape, dtype, order)

    mapped_array = pinned_array

    def synchronize(self) -> None:
        """Nothing to wait for: every launch is finished when it returns."""

    def stream(self, default: bool = False) -> Any:
        """A stream, in which everything happens at once."""
        return Stream()

    def event(self) -> Any:
        """An event that takes the time of this computer."""
        return Event()


class Gpu:
    """Runs kernels on a GPU through numba.cuda."""

    is_gpu = True

    def __init__(self) -> None:
        from numba import cuda

        self._cuda = cuda
        device = cuda.get_current_device()
        name = device.name.decode() if isinstance(device.name, bytes) else str(device.name)
        major, minor = device.compute_capability
        self.description = f"Kernels run on {name} (compute capability {major}.{minor})."

    def launch(self, kernel: Any, grid: Any, block: Any, stream: Any, shared: Any, arguments: tuple[Any, ...]) -> None:
        """Launch a kernel. numba's typing errors are shortened; a compiler that fails hands over to the simulator."""
        from course.simulator.launch import check_launch, dimensions
        from course.simulator.numba_types import refusal

        grid3, block3 = dimensions("grid", grid), dimensions("block", block)
        check_launch(grid3, block3)
        try:
            with _small_launches_welcome():
                kernel.numba_dispatcher()[grid3, block3, stream or 0, int(shared or 0)](*arguments)
        except Exception as error:
            kind = type(error).__name__
            if kind in ("TypingError", "LoweringError", "UnsupportedError", "UnsupportedBytecodeError"):
                raise refusal(error, kernel.py_func) from None
            if kind not in ("NvvmError", "NvvmSupportError", "LinkerError", "CudaSupportError", "NVRTCError"):
                raise
            print(f"The GPU's compiler failed ({_first_line(error)}). {kernel.__name__} runs in the simulator.")
            self._simulate(kernel, grid3, block3, shared, arguments)

    def _simulate(self, kernel: Any, grid: Any, block: Any, shared: Any, arguments: tuple[Any, ...]) -> None:
        simulator = Simulator("")
        device = [hasattr(value, "copy_to_host") for value in arguments]
        local = [simulator.to_device(value.copy_to_host()) if on_device else value
                 for value, on_device in zip(arguments, device, strict=True)]  # fmt: skip
        simulator.launch(kernel, grid, block, None, shared, tuple(local))
        for value, copy, on_device in zip(arguments, local, device, strict=True):
            if on_device:
                value.copy_to_device(copy.copy_to_host())

    def to_device(self, array: npt.NDArray[Any]) -> Any:
        """numba's device array."""
        return self._cuda.to_device(array)

    def device_array(self, shape: Any, dtype: Any, order: Any) -> Any:
        """numba's device array."""
        return self._cuda.device_array(shape, dtype, order=order)

    def pinned_array(self, shape: Any, dtype: Any, order: Any) -> Any:
        """numba's pinned array."""
        return self._cuda.pinned_array(shape, dtype, order=order)

    def mapped_array(self, shape: Any, dtype: Any, order: Any) -> Any:
        """numba's mapped array."""
        return self._cuda.mapped_array(shape, dtype, order=order)

    def synchronize(self) -> None:
        """Wait for the GPU."""
        self._cuda.synchronize()

    def stream(self, default: bool = False) -> Any:
        """numba's stream."""
        return self._cuda.default_stream() if default else self._cuda.stream()

    def event(self) -> Any:
        """numba's event."""
        return self._cuda.event()
