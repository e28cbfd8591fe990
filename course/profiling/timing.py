"""How long a kernel takes on a GPU: many launches queued between two events, never one launch from Python.

A launch from Python takes tens of microseconds, more than many kernels run. So the GPU is kept busy first, the
launches queue up behind that, and the events around them time the GPU alone.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from course import cuda

__all__ = ["GpuTime", "on_device", "time_on_gpu"]

_BATCHES = 9
_LAUNCHES = 20
"""Of a batch at most: few enough for the GPU's queue."""
_BATCH_MS = 50.0
"""A batch of slow launches holds fewer of them."""
_LONGEST_HOLD_MS = 400.0


@dataclass(frozen=True)
class GpuTime:
    """Time of one launch in microseconds, from several batches; nan where there is no GPU."""

    median_us: float
    lowest_us: float
    highest_us: float
    launches: int
    """All launches that were timed."""

    def bandwidth(self, useful_bytes: float) -> str:
        """Useful bytes per time, in 10^9 bytes per second, as text; 'no GPU here' without one."""
        return "no GPU here" if math.isnan(self.median_us) else f"{useful_bytes / self.median_us / 1000:.0f} GB/s"

    def __str__(self) -> str:
        if math.isnan(self.median_us):
            return "no GPU here"
        return f"{self.median_us:.1f} µs ({self.lowest_us:.1f} to {self.highest_us:.1f})"

    def __repr__(self) -> str:
        return str(self)

    def __format__(self, spec: str) -> str:
        return format(str(self), spec)


def time_on_gpu(
    kernel: Callable[..., Any], grid: int | tuple[int, ...], block: int | tuple[int, ...], *args: Any
) -> GpuTime:
    """Time ``kernel[grid, block](*args)`` on the GPU; without one, a GpuTime of nan.

    Host arrays are copied to the device once, before the clock runs, and are not copied back. The kernel runs many
    times on the same arguments.
    """
    if not cuda.is_available():
        return GpuTime(math.nan, math.nan, math.nan, 0)
    launch = kernel[grid, block]  # type: ignore[index]
    arguments = [on_device(argument) for argument in args]
    launch(*arguments)  # compiles
    first = _batch(launch, arguments, 1, hold_ms=20.0)
    launches = _LAUNCHES if math.isnan(first) else max(1, min(_LAUNCHES, int(_BATCH_MS / max(first, 1e-3))))
    hold_ms = 20.0
    times: list[float] = []
    while len(times) < _BATCHES:
        taken = _batch(launch, arguments, launches, hold_ms)
        if math.isnan(taken) and hold_ms < _LONGEST_HOLD_MS:
            hold_ms *= 2
            continue
        times.append(1000 * taken / launches)
    return GpuTime(statistics.median(times), min(times), max(times), launches * len(times))


def on_device(argument: Any) -> Any:
    """A host array's copy on the device; everything else as it is."""
    return cuda.to_device(argument) if type(argument).__module__ == "numpy" and argument.ndim else argument


@cuda.jit
def _hold(milliseconds: Any) -> None:
    """Keep the GPU busy: one thread that sleeps."""
    for _ in range(milliseconds):
        cuda.nanosleep(1_000_000)


def _batch(launch: Callable[..., None], arguments: list[Any], launches: int, hold_ms: float) -> float:
    """Milliseconds of some launches; nan when the GPU was free again before all of them were queued."""
    before, after = cuda.event(), cuda.event()
    cuda.synchronize()
    _hold[1, 1](max(1, int(hold_ms)))
    before.record()
    for _ in range(launches):
        launch(*arguments)
    after.record()
    queued_in_time = not before.query()
    after.synchronize()
    taken = float(before.elapsed_time(after))
    return taken if queued_in_time or hold_ms >= _LONGEST_HOLD_MS else math.nan
