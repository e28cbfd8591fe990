"""`profile(kernel, grid, block, *args)`: run a kernel in the simulator and keep what it did, line by line."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from course.profiling.difference import Difference
from course.profiling.launch_counts import Flops, LaunchCounts, Line, ratio
from course.profiling.precision import accidental_fp64
from course.profiling.progress import Progress
from course.profiling.report import html, text
from course.simulator.launch import LOOP_SECONDS, MAX_STEPS
from course.simulator.observers import CountAndCheck
from course.simulator.source import run

__all__ = ["Profile", "profile"]

SECONDS = 20.0
"""Stated time budget of a profile; past it, whole blocks are sampled."""
DRAM_BLOCK_BYTES = 64
"""The H200 reads DRAM in blocks of 64 bytes (course/measured/h200_bandwidth.json, "rd stride 8" and "rd stride 16")."""


@dataclass(frozen=True, repr=False)
class Profile(LaunchCounts):
    """What one launch did. Print it, or show it in a notebook, for the annotated listing.

    Counts are `source-level`: every access as written. A compiler may merge or drop some of them.
    """

    def diff(self, other: LaunchCounts) -> Difference:
        """Set this profile beside that of a changed kernel: before, after, and the factor between."""
        return Difference(self, other)

    def __str__(self) -> str:
        return text(self)

    def _repr_html_(self) -> str:
        return html(self)

    def __repr__(self) -> str:
        counts = f"{self.requests} requests, {self.sectors} sectors, {len(self.findings)} findings"
        return f"<Profile of {self.kernel}: {counts}>"


def _loop_seconds(seconds: float) -> float:
    """What one loop may take: more than usual where a person has asked for a longer profile."""
    return max(LOOP_SECONDS, seconds / 2) if isinstance(seconds, (int, float)) and seconds < math.inf else LOOP_SECONDS


def profile(
    kernel: Callable[..., Any],
    grid: int | tuple[int, ...],
    block: int | tuple[int, ...],
    *args: Any,
    warp_lanes: int = 32,
    shared_bytes: int = 0,
    seconds: float = SECONDS,
    dram_block_bytes: int | None = DRAM_BLOCK_BYTES,
    max_steps: int = MAX_STEPS,
    watch: Callable[[], None] | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Profile:
    """Run ``kernel[grid, block](*args)`` in the simulator, counted and checked.

    kernel: any numba.cuda kernel, also one made with ``from numba import cuda``.
    args: NumPy arrays (changed in place, as a launch does), device arrays, numbers.
    warp_lanes: 64 groups lanes as AMD's CDNA does (a teaching model, not measured).
    shared_bytes: dynamic shared memory of a block.
    seconds: beyond this, whole blocks are sampled and the profile says so. A `while` loop that takes half of it
        (and 10 s at least) is taken to be endless.
    dram_block_bytes: unit of the card's DRAM reads, None where it was not measured.
    max_steps: loop iterations after which the kernel is taken to be endless.
    watch: called again and again during the run; what it raises ends the run (a grader's time limit).
    clock: gives the time by which `seconds` are kept.

    Raises what `course.simulator.source.run` raises, before any thread runs where that is possible.
    """
    observer = CountAndCheck(dram_block_bytes)
    with Progress(getattr(kernel, "__name__", "kernel")) as bar:

        def tick(done: int, total: int) -> None:
            bar(done, total)
            if watch is not None:
                watch()

        info = run(
            kernel, grid, block, args, observer=observer, warp_lanes=warp_lanes, shared_bytes=shared_bytes,
            signature=getattr(kernel, "signature", None), budget=seconds, max_steps=max_steps, progress=tick,
            loop_seconds=_loop_seconds(seconds),
            clock=clock,
        )  # fmt: skip
    launch, counters = info.launch, observer.counters
    executed = counters.lines
    findings = (*observer.hazards.findings, *accidental_fp64(launch, executed))
    instructions = sum(counts.instructions for counts in executed.values())
    return Profile(
        kernel=launch.kernel,
        grid=launch.grid,
        block=launch.block,
        warp_lanes=launch.warp_lanes,
        lines=tuple(
            Line(
                number,
                text,
                tuple(c for c in counters.sites if c.site.line == number),
                tuple(f for f in findings if f.line == number),
                executed.get(number),
            )
            for number, text in enumerate(launch.source, launch.first_line)
        ),
        sites=counters.sites,
        findings=findings,
        dram=counters.dram,
        dram_block_bytes=dram_block_bytes,
        flops=Flops(
            sum(counts.flops16 for counts in executed.values()),
            sum(counts.flops32 for counts in executed.values()),
            sum(counts.flops64 for counts in executed.values()),
        ),
        threads_per_instruction=ratio(sum(counts.active_lanes for counts in executed.values()), instructions),
        shared_bytes=launch.shared_bytes,
        blocks_run=info.blocks,
        copies=counters.copy_counts,
    )
