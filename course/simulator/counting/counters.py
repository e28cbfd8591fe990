"""Requests, sectors, wavefronts, divergence and FLOPs of a launch, as Nsight Compute counts them.

`Counters` is an observer of the engine. It keeps one small record per access site and per line, never
the accesses themselves; a few requests of each site are kept for pictures.

What counts as what:

- one warp with an active lane at an access is one *request* (global) or *instruction* (shared);
- global requests cost sectors and lines (course.models.coalescing), shared ones cost wavefronts
  (course.models.banks); atomics are kept apart and cost what a store at their addresses would;
- local and constant accesses are counted as instructions only: local arrays mostly become registers.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from course.errors import ArgumentValueError
from course.models.coalescing import LINE_BYTES, SECTOR_BYTES
from course.simulator.access import Access, Barrier, Batch, CopyEvent, Finding, Instruction, Kind, Launch, Site, Space
from course.simulator.counting import lane_rules
from course.simulator.rows import Lanes, MaskRows, Masks
from course.simulator.twins import Twins

__all__ = ["COUNTING", "CopyCounts", "Counters", "DramBytes", "LineCounts", "Request", "SiteCounts"]

COUNTING = Twins(lane_rules, "course.simulator.counting.lane_kernels")

SAMPLES = 8
"""Requests of a site that are kept for pictures."""


class Request(NamedTuple):
    """One warp's request, for pictures."""

    addresses: npt.NDArray[np.int64]
    """Byte address of each lane."""
    active: npt.NDArray[np.bool_]


class DramBytes(NamedTuple):
    """What a launch moves between DRAM and the chip lies between these two, in bytes."""

    compulsory: int
    """Each block that loads touch, fetched once, and each sector that stores touch, written once."""
    transferred: int
    """All that L1 moves (32 x sectors), which is what is left for DRAM when no cache below L1 helps; never
    less than `compulsory`, since a DRAM block can be larger than the sectors used of it."""


@dataclass
class CopyCounts:
    """What became of the asynchronous copies of a launch; each number counts warps."""

    commits: int = 0
    waits: int = 0
    landed: int = 0
    """Copies that a wait let land."""
    overlapped: int = 0
    """Of these, the ones during which their block read shared memory: it computed while they were on their way."""


@dataclass
class SiteCounts:
    """What one access site did, summed over the launch."""

    site: Site
    instructions: int = 0
    """Warp-wide accesses with an active lane; for global memory, its requests."""
    active_lanes: int = 0
    requested_bytes: int = 0
    """Bytes that active lanes asked for."""
    sectors: int = 0
    lines: int = 0
    wavefronts: int = 0
    ideal_wavefronts: int = 0
    conflict_degree: int = 0
    """Most distinct words that one group of lanes wanted from one bank (1: no conflict)."""
    samples: list[Request] = field(default_factory=list)
    """The first requests, one of each of the first accesses."""

    @property
    def transferred_bytes(self) -> int:
        """Bytes that moved to serve the requests: 32 x sectors."""
        return SECTOR_BYTES * self.sectors

    @property
    def sectors_per_request(self) -> float:
        """Sectors of an average request; nan when there was none."""
        return self.sectors / self.instructions if self.instructions else float("nan")

    @property
    def efficiency(self) -> float:
        """Requested bytes / transferred bytes; nan when nothing moved."""
        return self.requested_bytes / self.transferred_bytes if self.sectors else float("nan")


@dataclass
class LineCounts:
    """What one source line executed."""

    line: int
    instructions: int = 0
    """Warps that executed the line's statements and expressions, summed."""
    active_lanes: int = 0
    flops16: int = 0
    flops32: int = 0
    flops64: int = 0

    @property
    def threads_per_instruction(self) -> float:
        """Active lanes of an average instruction (32: no divergence); nan when nothing ran."""
        return self.active_lanes / self.instructions if self.instructions else float("nan")


class Counters:
    """Counts one launch. After `end`, read `sites`, `lines`, `total` and `dram`.

    dram_block_bytes: the unit in which the card reads DRAM where that was measured (64 on the H200);
    None: 32 is used, and the compulsory DRAM bytes are a lower bound.
    masks: the observers of one launch may share this cache.
    """

    def __init__(self, dram_block_bytes: int | None = None, *, masks: Masks | None = None) -> None:
        if dram_block_bytes not in (None, 32, 64, 128):
            raise ArgumentValueError(
                f"dram_block_bytes is {dram_block_bytes!r}: expected 32, 64, 128, or None (unknown)."
            )
        self.dram_block_bytes = dram_block_bytes
        self.sites: tuple[SiteCounts, ...] = ()
        self.lines: dict[int, LineCounts] = {}
        self.copy_counts = CopyCounts()
        self._masks = masks if masks is not None else Masks()

    def begin(self, launch: Launch) -> None:
        """Start counting a launch from zero."""
        self.sites = tuple(SiteCounts(site) for site in launch.sites)
        self.lines = {}
        self.copy_counts = CopyCounts()
        self._warp_lanes = launch.warp_lanes
        self._regions, size = _sector_regions(launch)
        self._touched: dict[Kind, npt.NDArray[np.uint8]] = {
            "load": np.zeros(size, np.uint8),
            "store": np.zeros(size, np.uint8),
            "atomic": np.zeros(size, np.uint8),
        }

    def batch(self, batch: Batch) -> None:
        """Nothing to prepare: counts do not depend on which blocks run together."""

    def access(self, access: Access, lanes: Lanes | None = None) -> None:
        """Count one memory instruction. `lanes` is ``masks.lanes(access)``, where the caller has it already."""
        site = access.site
        counts = self.sites[site.index]
        table, grid, rows = lanes if lanes is not None else self._masks.lanes(access)
        warps, active = rows.totals
        if warps and site.space in ("global", "shared"):
            cases = rows.cases(grid)
            totals = np.zeros(5, np.int64)
            batch = (table, rows.rows, rows.active, cases)
            if site.space == "global":
                COUNTING.call("count_global", *batch, self._regions, self._touched[site.kind], totals)
                sectors, lines = totals[2:4].tolist()
                counts.sectors += sectors
                counts.lines += lines
            else:
                COUNTING.call("count_shared", *batch, access.size, site.kind == "load", totals)
                wavefronts, ideal, degree = totals[2:].tolist()
                counts.wavefronts += wavefronts
                counts.ideal_wavefronts += ideal
                counts.conflict_degree = max(counts.conflict_degree, degree)
            if len(counts.samples) < SAMPLES:
                counts.samples.append(_first_request(table, rows, cases, access.warp_lanes))
        counts.instructions += warps
        counts.active_lanes += active
        counts.requested_bytes += active * access.size

    def barrier(self, barrier: Barrier) -> None:
        """Barriers move no bytes."""

    def copies(self, event: CopyEvent) -> None:
        """Count commits, waits and landings of asynchronous copies; their bytes were counted when they started."""
        warps = self._masks.rows(event.mask, event.shape, self._warp_lanes).totals[0]
        counts = self.copy_counts
        if event.kind == "commit":
            counts.commits += warps
        elif event.kind == "wait":
            counts.waits += warps
        else:
            counts.landed += warps
            counts.overlapped += warps if event.overlapped else 0

    def instruction(self, instruction: Instruction) -> None:
        """Count the lanes and the arithmetic of a statement."""
        counts = self.lines.get(instruction.line)
        if counts is None:
            counts = self.lines[instruction.line] = LineCounts(instruction.line)
        warps, lanes = self._masks.rows(instruction.mask, instruction.shape, self._warp_lanes).totals
        counts.instructions += warps * instruction.count
        counts.active_lanes += lanes * instruction.count
        counts.flops16 += lanes * instruction.flops16
        counts.flops32 += lanes * instruction.flops32
        counts.flops64 += lanes * instruction.flops64

    def finding(self, finding: Finding) -> None:
        """Findings are for the hazard checks."""

    def end(self) -> None:
        """Nothing to close: the counts are complete at any time."""

    def total(self, space: Space, kind: Kind, name: str) -> int:
        """Sum of one number of SiteCounts over all sites: ``total("global", "load", "sectors")``."""
        return sum(getattr(c, name) for c in self.sites if c.site.space == space and c.site.kind == kind)

    @property
    def dram(self) -> DramBytes:
        """Bounds on the bytes that cross the DRAM bus.

        Measured on the H200 (see DramBytes): loads fetch 64-byte blocks, stores write 32-byte sectors. An
        atomic reads and writes.
        """
        read = self._touched["load"] | self._touched["atomic"]
        written = self._touched["store"] | self._touched["atomic"]
        block = self.dram_block_bytes or SECTOR_BYTES
        blocks = read.view(f"u{block // SECTOR_BYTES}")  # a byte per sector: one number per block
        compulsory = block * int(np.count_nonzero(blocks)) + SECTOR_BYTES * int(np.count_nonzero(written))
        moved = sum(c.transferred_bytes for c in self.sites if c.site.space == "global")
        return DramBytes(compulsory, max(moved, compulsory))


def _sector_regions(launch: Launch) -> tuple[npt.NDArray[np.int64], int]:
    """(first sector, end sector, shift to its place in the table of touched sectors) of each stretch of memory.

    Arrays that overlap (views) share a stretch. Stretches start at a line, so that blocks of up to 128
    bytes are whole in the table. Also returns the length of the table.
    """
    line = LINE_BYTES // SECTOR_BYTES
    stretches: list[list[int]] = []
    arrays = [a for a in launch.arrays if a.space == "global" and a.nbytes]
    for array in sorted(arrays, key=lambda a: a.address):
        first = array.address // LINE_BYTES * line
        end = -(-(array.address + array.nbytes) // LINE_BYTES) * line
        if stretches and first < stretches[-1][1]:
            stretches[-1][1] = max(stretches[-1][1], end)
        else:
            stretches.append([first, end])
    size = 0
    regions = []
    for first, end in stretches:
        regions.append((first, end, size - first))
        size += end - first
    return np.array(regions, np.int64).reshape(-1, 3), size


def _first_request(
    table: npt.NDArray[np.int64], rows: MaskRows, cases: npt.NDArray[np.int64], warp_lanes: int
) -> Request:
    """The first warp of the batch that has an active lane."""
    for address_row, mask_row, _ in cases:
        for warp in np.flatnonzero(rows.active[mask_row]):
            lanes = slice(warp * warp_lanes, (warp + 1) * warp_lanes)
            return Request(table[address_row, lanes].copy(), rows.rows[mask_row, lanes].copy())
    raise ValueError("no lane is active: expected a request to keep.")
