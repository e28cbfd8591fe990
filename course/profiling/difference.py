"""Two profiles side by side: what a change of the kernel bought."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from course.profiling.launch_counts import LaunchCounts
from course.profiling.rows import number
from course.tables import as_html, as_text

__all__ = ["Difference"]

_ROWS: tuple[tuple[str, Callable[[LaunchCounts], float]], ...] = (
    ("global load requests", lambda p: p.total("global", "instructions", "load")),
    ("global load sectors", lambda p: p.total("global", "sectors", "load")),
    ("global store requests", lambda p: p.total("global", "instructions", "store")),
    ("global store sectors", lambda p: p.total("global", "sectors", "store")),
    ("sectors per request", lambda p: p.sectors_per_request),
    ("efficiency, %", lambda p: 100 * p.efficiency),
    ("DRAM bytes, compulsory", lambda p: p.dram.compulsory),
    ("DRAM bytes, at most", lambda p: p.dram.transferred),
    ("shared wavefronts", lambda p: p.shared_wavefronts),
    ("of these, from conflicts", lambda p: p.shared_wavefronts - p.ideal_shared_wavefronts),
    ("FLOP", lambda p: p.flops.total),
    ("of these, FP64", lambda p: p.flops.fp64),
    ("lanes per instruction", lambda p: p.threads_per_instruction),
    ("findings", lambda p: len(p.findings)),
)


@dataclass(frozen=True)
class Difference:
    """Before and after; rows that are 0 or meaningless on both sides are left out."""

    before: LaunchCounts
    after: LaunchCounts

    @property
    def rows(self) -> list[tuple[str, float, float]]:
        """(name, before, after)."""
        found = [(name, float(value(self.before)), float(value(self.after))) for name, value in _ROWS]
        return [row for row in found if any(v and not math.isnan(v) for v in row[1:])]

    def _cells(self) -> list[list[str]]:
        return [[name, number(before), number(after), _change(before, after)] for name, before, after in self.rows]

    @property
    def _head(self) -> list[str]:
        names = [self.before.kernel, self.after.kernel]
        if names[0] == names[1]:
            names = ["before", "after"]
        return ["", *names, "change"]

    def __str__(self) -> str:
        return as_text(self._head, self._cells())

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return as_html(self._head, self._cells(), name="Two profiles")


def _change(before: float, after: float) -> str:
    if math.isnan(before) or math.isnan(after) or before == after:
        return "same" if before == after else ""
    if not before or not after:
        return f"{after - before:+,.4g}"
    return f"÷ {before / after:.3g}" if after < before else f"× {after / before:.3g}"
