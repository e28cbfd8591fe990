"""`profile(kernel, grid, block, *args)`: run a kernel in the simulator and keep what it did, line by line."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from course.profiling.precision import accidental_fp64
from course.profiling.progress import Progress
from course.simulator import run
from course.simulator.access import Finding, Kind, Space
from course.simulator.counting.counters import CopyCounts, DramBytes, LineCounts, SiteCounts
from course.simulator.launch import LOOP_SECONDS, MAX_STEPS
from course.simulator.observers import CountAndCheck

__all__ = ["Flops", "Line", "Profile", "profile"]

SECONDS = 20.0
"""Stated time budget of a profile; past it, whole blocks are sampled."""
DRAM_BLOCK_BYTES = 64
"""The H200 reads DRAM in blocks of 64 bytes (course/measured/h200_bandwidth.json, "rd stride 8" and "rd stride 16")."""

METRICS = (
    "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio",
    "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    "smsp__inst_executed_op_shared_ld.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
    "smsp__inst_executed_op_shared_st.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
    "smsp__thread_inst_executed_per_inst_executed.ratio",
)
"""Nsight Compute's names of what a profile counts, in this order."""


@dataclass(frozen=True)
class Flops:
    """Floating-point operations by precision; a multiply-add counts as two."""

    fp16: int
    fp32: int
    fp64: int

    @property
    def total(self) -> int:
        """All operations, whatever their precision."""
        return self.fp16 + self.fp32 + self.fp64


@dataclass(frozen=True)
class Line:
    """One source line of the kernel: what it executed, and what it did to memory."""

    number: int
    text: str
    sites: tuple[SiteCounts, ...]
    """Its accesses, in source order."""
    findings: tuple[Finding, ...]
    executed: LineCounts | None
    """None for a line that holds no statement, or that no lane reached."""


@dataclass(frozen=True)
class Profile:
    """What one launch did. Print it, or show it in a notebook, for the annotated listing.

    Counts are `source-level`: every access as written. A compiler may merge or drop some of them.
    """

    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    warp_lanes: int
    lines: tuple[Line, ...]
    sites: tuple[SiteCounts, ...]
    """Every access site, also those of device functions in other places than `lines`."""
    findings: tuple[Finding, ...]
    dram: DramBytes
    dram_block_bytes: int | None
    """Unit of the card's DRAM reads; None where unmeasured, then `dram.compulsory` is a lower bound."""
    flops: Flops
    threads_per_instruction: float
    """Active lanes of an average statement; the warp's lanes when nothing diverges."""
    shared_bytes: int
    """Shared memory of a block."""
    blocks_run: int
    """Fewer than the grid has when the time budget ran out; then blocks were sampled."""
    copies: CopyCounts
    """What became of the asynchronous copies; their bytes are among those of `sites`."""

    @property
    def blocks(self) -> int:
        """Blocks of the grid."""
        return self.grid[0] * self.grid[1] * self.grid[2]

    @property
    def sampled(self) -> bool:
        """Whether only some blocks ran: counts are theirs, and outputs are incomplete."""
        return self.blocks_run < self.blocks

    def total(self, space: Space, name: str, *kinds: Kind) -> int:
        """Sum one number of `SiteCounts` over the sites of a memory space.

        For example ``total("global", "sectors", "load")``; without a kind: loads, stores and atomics.
        """
        wanted = kinds or ("load", "store", "atomic")
        return sum(getattr(c, name) for c in self.sites if c.site.space == space and c.site.kind in wanted)

    @property
    def requests(self) -> int:
        """Requests to global memory: loads, stores and atomics."""
        return self.total("global", "instructions")

    @property
    def sectors(self) -> int:
        """Sectors of all these requests."""
        return self.total("global", "sectors")

    @property
    def sectors_per_request(self) -> float:
        """Sectors of an average request; nan when there was none."""
        return _ratio(self.sectors, self.requests)

    @property
    def requested_bytes(self) -> int:
        """Bytes that active lanes asked global memory for."""
        return self.total("global", "requested_bytes")

    @property
    def transferred_bytes(self) -> int:
        """Bytes that L1 moved to serve them: 32 x sectors."""
        return self.total("global", "transferred_bytes")

    @property
    def efficiency(self) -> float:
        """Requested / transferred bytes; nan when nothing moved."""
        return _ratio(self.requested_bytes, self.transferred_bytes)

    @property
    def shared_wavefronts(self) -> int:
        """Passes of the shared-memory pipe."""
        return self.total("shared", "wavefronts")

    @property
    def ideal_shared_wavefronts(self) -> int:
        """Passes that the same accesses would take without a bank conflict."""
        return self.total("shared", "ideal_wavefronts")

    @property
    def arithmetic_intensity(self) -> tuple[float, float]:
        """FLOP per DRAM byte, (lowest, highest): with all that L1 moved, and with the compulsory bytes only."""
        return _ratio(self.flops.total, self.dram.transferred), _ratio(self.flops.total, self.dram.compulsory)

    @property
    def metrics(self) -> dict[str, float]:
        """The counts under Nsight Compute's metric names.

        An asynchronous copy is a global load there and no shared store (course/measured/h200_async_copies.json).
        """
        loads, sectors = self.total("global", "instructions", "load"), self.total("global", "sectors", "load")
        ways: tuple[Kind, ...] = ("load", "store")
        shared = []
        for kind in ways:
            sites = [c for c in self.sites if c.site.space == "shared" and c.site.kind == kind]
            counted = [c for c in sites if not c.site.asynchronous]
            wavefronts = sum(c.wavefronts for c in counted)
            conflicts = wavefronts - sum(c.ideal_wavefronts for c in counted)
            shared += [sum(c.instructions for c in counted), wavefronts, conflicts]
        stores = (self.total("global", number, "store") for number in ("instructions", "sectors"))
        values = (loads, sectors, _ratio(sectors, loads), *stores, *shared, self.threads_per_instruction)
        return dict(zip(METRICS, values, strict=True))

    def diff(self, other: Profile) -> Any:
        """Set this profile beside that of a changed kernel: before, after, and the factor between."""
        from course.profiling.difference import Difference

        return Difference(self, other)

    def __str__(self) -> str:
        from course.profiling.report import text

        return text(self)

    def _repr_html_(self) -> str:
        from course.profiling.report import html

        return html(self)

    def __repr__(self) -> str:
        counts = f"{self.requests} requests, {self.sectors} sectors, {len(self.findings)} findings"
        return f"<Profile of {self.kernel}: {counts}>"


def _ratio(numerator: float, denominator: float) -> float:
    return numerator / denominator if denominator else float("nan")


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

    Raises what `course.simulator.run` raises, before any thread runs where that is possible.
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
        threads_per_instruction=_ratio(sum(counts.active_lanes for counts in executed.values()), instructions),
        shared_bytes=launch.shared_bytes,
        blocks_run=info.blocks,
        copies=counters.copy_counts,
    )
