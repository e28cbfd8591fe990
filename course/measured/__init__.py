"""Figures read from real hardware, each file with card, driver and date.

Nothing in `course` computes with these numbers: notebooks set them beside what the models say, and
tests hold the models to them.
"""

from __future__ import annotations

import difflib
import functools
import html
import json
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import resources
from typing import Any

from course.tables import as_html, as_text

__all__ = ["Lab", "Latency", "Measurements", "Timing", "bandwidth", "counters", "lab", "latency"]


@dataclass(frozen=True)
class Timing:
    """One timed launch whose data is far larger than the caches."""

    name: str
    time_us: float
    useful_gb_per_s: float
    """Bytes the algorithm needs / time, in 10^9 bytes per second."""
    dram_gb_per_s: float
    dram_read_mb: int
    dram_write_mb: int
    load_sectors: int
    store_sectors: int
    l2_read_sectors: int
    occupancy_percent: float
    registers_per_thread: int
    dram_percent_of_peak: float
    shared_conflicts: int


@dataclass(frozen=True)
class Latency:
    """How long one lane waits for a load that finds its data on each level, and where that was measured."""

    cycles: dict[str, float]
    """Clock cycles of the SM by level: registers, shared, l1, l2, dram."""
    sm_clock_mhz: int
    source: str


@dataclass(frozen=True)
class Measurements:
    """Some timed launches and where they were measured; shows itself as a table."""

    timings: tuple[Timing, ...]
    source: str

    _COLUMNS = (
        ("case", lambda t: t.name),
        ("time, µs", lambda t: f"{t.time_us:.1f}"),
        ("useful, GB/s", lambda t: f"{t.useful_gb_per_s:.0f}"),
        ("load sectors", lambda t: f"{t.load_sectors:,}"),
        ("DRAM read, MB", lambda t: f"{t.dram_read_mb}"),
    )

    def __getitem__(self, name: str) -> Timing:
        """The launch of this name. Raises KeyError for one that is not in the table."""
        for timing in self.timings:
            if timing.name == name:
                return timing
        raise KeyError(f"{name!r} is not among {', '.join(t.name for t in self.timings)}")

    @property
    def _cells(self) -> list[list[str]]:
        return [[cell(timing) for _, cell in self._COLUMNS] for timing in self.timings]

    @property
    def _head(self) -> list[str]:
        return [title for title, _ in self._COLUMNS]

    def __str__(self) -> str:
        return f"{as_text(self._head, self._cells)}\n{self.source}"

    def _repr_html_(self) -> str:
        return as_html(self._head, self._cells, self.source, name="Measured on a GPU")


@dataclass(frozen=True)
class Lab:
    """What a cell of the course printed on a real GPU; shows itself."""

    text: str
    source: str

    def __str__(self) -> str:
        return f"{self.text}\n{self.source}"

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        text, source = html.escape(self.text), html.escape(self.source)
        return f'<pre style="font-family:monospace">{text}</pre><p><small>{source}</small></p>'


@functools.cache
def _file(name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(resources.files(__package__).joinpath(name).read_text(encoding="utf-8"))
    return content


def _provenance(content: dict[str, Any]) -> str:
    on = content["measured_on"]
    tools = {"cuda": "CUDA", "nsight_compute": "Nsight Compute", "numba_cuda": "numba-cuda"}
    tool = next(f"{name} {on[key]}" for key, name in tools.items() if key in on)
    return (
        f"Measured on {on['gpu']} (compute capability {on['compute_capability']}), driver {on['driver']}, "
        f"{tool}, {on['date']}."
    )


def _missing(name: str, known: Iterable[str]) -> KeyError:
    near = difflib.get_close_matches(name, list(known), n=3)
    return KeyError(f"no measurement is called {name!r}" + (f"; did you mean {', '.join(near)}?" if near else ""))


def lab(name: str) -> Lab:
    """What a lab printed when the whole chapter ran on an H200: ``lab("coalescing/stride-lab")``.

    name: 'chapter/id of the cell'. Raises KeyError, with near names, for one that was not recorded.
    """
    content = _file("h200_labs.json")
    if name not in content["labs"]:
        raise _missing(name, content["labs"])
    return Lab(content["labs"][name], _provenance(content))


def bandwidth(*names: str) -> Measurements:
    """Timed launches on an H200 by name, such as ``bandwidth("rd stride 1", "rd stride 8")``; without a name, all."""
    content = _file("h200_bandwidth.json")
    cases = {case["name"]: Timing(**case) for case in content["cases"]}
    for name in names:
        if name not in cases:
            raise _missing(name, cases)
    return Measurements(tuple(cases[name] for name in names or cases), _provenance(content))


def counters() -> dict[str, dict[str, Any]]:
    """Hardware counters of 327 small launches on an H200, by launch name (metric names: course/measured/README.md)."""
    return {case["name"]: case for case in _file("h200_counters.json")["cases"]}


def latency() -> Latency:
    """What a pointer chase took on an H200, level by level (tools/latency.cu)."""
    content = _file("h200_latency.json")
    cycles = {row["level"]: row["cycles"] for row in content["levels"]}
    return Latency(cycles, content["measured_on"]["sm_clock_mhz"], _provenance(content))
