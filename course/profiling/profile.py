"""`profile(kernel, grid, block, *args)`: run a kernel in the simulator and keep what it did, line by line."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from course.languages import running
from course.languages.numba_front_end import compile_numba
from course.profiling.difference import Difference
from course.profiling.launch_counts import Flops, LaunchCounts, Level, Line, MachineCode, ratio
from course.profiling.precision import accidental_fp64
from course.profiling.progress import Progress
from course.profiling.report import html, text
from course.simulator.errors import LaunchError
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

    Counts are `source-level`: every access as written; or, where `level` is "machine", those of the compiled code.
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


def _check_level(level: object, cc: object) -> None:
    if level not in ("source", "machine"):
        raise LaunchError(f'expected level="source" or level="machine", got {level!r}: say one of the two.')
    if not (isinstance(cc, tuple) and len(cc) == 2 and all(isinstance(part, int) for part in cc)):
        raise LaunchError(f"expected cc=(major, minor), two whole numbers such as (9, 0), got {cc!r}: say both.")


def _machine_code(built: running.Built, cc: tuple[int, int]) -> MachineCode:
    """What the compiler said of the code that ran."""
    usage = built.machine.usage
    return MachineCode(
        cc=cc,
        compiler=built.machine.said_by.split(",")[0],
        registers=usage.registers,
        spill_store_bytes=usage.spill_store_bytes,
        spill_load_bytes=usage.spill_load_bytes,
        stack_bytes=usage.stack_bytes,
        shared_bytes=usage.shared_bytes,
        mix=dict(built.machine.mix),
        rewrites=tuple((one.line, one.message) for one in built.rewrites),
    )


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
    level: Level = "source",
    cc: tuple[int, int] = (9, 0),
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
    level: "source" runs the kernel as written; "machine" runs what NVIDIA's compiler makes of it (no GPU is needed).
    cc: compute capability to compile for, at level "machine".

    Raises what `course.simulator.source.run` raises, before any thread runs where that is possible; at level "machine"
    also NoCompilerError where NVIDIA's compiler is missing, and UnsupportedKernel for an instruction that does not run.
    """
    _check_level(level, cc)
    observer = CountAndCheck(dram_block_bytes)
    with Progress(getattr(kernel, "__name__", "kernel")) as bar:

        def tick(done: int, total: int) -> None:
            bar(done, total)
            if watch is not None:
                watch()

        if level == "machine":
            info = running.run(
                kernel, grid, block, args, cc=cc, observer=observer, warp_lanes=warp_lanes, shared_bytes=shared_bytes,
                budget=seconds, max_steps=max_steps, progress=tick, clock=clock,
            )  # fmt: skip
        else:
            info = run(
                kernel, grid, block, args, observer=observer, warp_lanes=warp_lanes, shared_bytes=shared_bytes,
                signature=getattr(kernel, "signature", None), budget=seconds, max_steps=max_steps, progress=tick,
                loop_seconds=_loop_seconds(seconds), clock=clock,
            )  # fmt: skip
    launch, counters = info.launch, observer.counters
    executed = counters.lines
    findings = (*observer.hazards.findings, *accidental_fp64(launch, executed))
    built = running.build(compile_numba(kernel, args, cc)) if level == "machine" else None  # remembered
    gone = built.gone if built is not None else frozenset()
    sites = tuple(counts for counts in counters.sites if counts.site.index not in gone)
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
                tuple(c for c in sites if c.site.line == number),
                tuple(f for f in findings if f.line == number),
                executed.get(number),
            )
            for number, text in enumerate(launch.source, launch.first_line)
        ),
        sites=sites,
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
        level=level,
        machine=_machine_code(built, cc) if built is not None else None,
    )
