"""What one launch did: its counts, line by line and site by site, and what is computed from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from course.simulator.access import Finding, Kind, Space
from course.simulator.counting.counters import CopyCounts, DramBytes, LineCounts, SiteCounts

__all__ = ["METRICS", "Flops", "LaunchCounts", "Level", "Line", "MachineCode", "ratio"]

Level = Literal["source", "machine"]
"""What ran and was counted: the kernel as written, or as compiled."""

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
class MachineCode:
    """What the compiler made of a kernel."""

    cc: tuple[int, int]
    """Compute capability that it was compiled for."""
    compiler: str
    """Its assembler, with its version."""
    registers: int
    """Registers of a thread."""
    spill_store_bytes: int
    spill_load_bytes: int
    """Bytes of a thread that did not fit into registers."""
    stack_bytes: int
    """Local memory of a thread: spills, and local arrays."""
    shared_bytes: int
    """Static shared memory of a block."""
    mix: Mapping[str, int]
    """Machine instructions in the code (not: executed) by kind."""
    rewrites: tuple[tuple[int, str], ...]
    """(line of the kernel, sentence) of each access that the assembler changed, or that could not be matched."""

    def rewrites_of(self, line: int) -> tuple[str, ...]:
        """The sentences about one line."""
        return tuple(sentence for number, sentence in self.rewrites if number == line)


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
class LaunchCounts:
    """What one launch did, and the numbers that follow from it.

    Counts are `source-level`: every access as written (a compiler may merge or drop some of them); or, where `level` is
    "machine", of the code that NVIDIA's compiler made.
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
    level: Level = "source"
    machine: MachineCode | None = None
    """The compiled code, where that is what ran."""

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
        return ratio(self.sectors, self.requests)

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
        return ratio(self.requested_bytes, self.transferred_bytes)

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
        return ratio(self.flops.total, self.dram.transferred), ratio(self.flops.total, self.dram.compulsory)

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
        values = (loads, sectors, ratio(sectors, loads), *stores, *shared, self.threads_per_instruction)
        return dict(zip(METRICS, values, strict=True))


def ratio(numerator: float, denominator: float) -> float:
    """A quotient; nan where there is nothing to divide by."""
    return numerator / denominator if denominator else float("nan")
