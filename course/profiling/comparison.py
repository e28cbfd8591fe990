"""Prediction beside measurement: what the simulator counts, and what a GPU counted, metric by metric."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from course import cuda
from course.profiling.launch_counts import METRICS
from course.profiling.ncu import NoCountersError, counters
from course.profiling.profile import profile
from course.profiling.rows import number
from course.profiling.timing import GpuTime, time_on_gpu
from course.tables import as_html, as_text

__all__ = ["Comparison", "compare"]

_NO_GPU = "no GPU here"
_HEAD = ("metric", "predicted", "measured")


@dataclass(frozen=True)
class Comparison:
    """Nsight Compute's metrics of one launch, and its time; shows itself as a table."""

    predicted: dict[str, float]
    measured: dict[str, float] | None
    """None where no GPU's counters can be read; `why` says why."""
    why: str = _NO_GPU
    time: GpuTime | None = None
    """None without a GPU."""

    @property
    def _cells(self) -> list[list[str]]:
        cells = [[name, number(value), self._measured(name)] for name, value in self.predicted.items()]
        return cells if self.time is None else [*cells, ["time of one launch", "", str(self.time)]]

    def _measured(self, name: str) -> str:
        return self.why if self.measured is None else number(self.measured.get(name, math.nan))

    def __str__(self) -> str:
        return as_text(_HEAD, self._cells)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return as_html(_HEAD, self._cells, name="Predicted and measured")


def compare(
    kernel: Callable[..., Any], grid: int | tuple[int, ...], block: int | tuple[int, ...], *args: Any
) -> Comparison:
    """Profile ``kernel[grid, block](*args)`` and set its counts beside those of a GPU's own counters.

    The counters come from Nsight Compute, where there is a GPU and `ncu` is installed; arrays of the host are
    changed as one launch changes them.
    """
    if not cuda.is_available():
        return Comparison(profile(kernel, grid, block, *args).metrics, None)
    launchable = kernel if isinstance(kernel, cuda.Kernel) else cuda.jit(getattr(kernel, "py_func", kernel))
    time = time_on_gpu(launchable, grid, block, *args)
    measured, why = None, ""
    try:  # before the profile, which changes the arrays as a launch does
        measured = counters(kernel, grid, block, args, METRICS)
    except NoCountersError as error:
        why = str(error)
    return Comparison(profile(kernel, grid, block, *args).metrics, measured, why, time)
