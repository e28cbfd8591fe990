"""What the listing says of one access site and of the whole launch, as words: used by text and HTML alike."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from course.profiling.launch_counts import LaunchCounts, MachineCode
from course.simulator.access import Kind
from course.simulator.counting.counters import SiteCounts

__all__ = ["SiteRow", "Total", "number", "percent", "site_row", "totals"]

_KINDS: tuple[Kind, ...] = ("load", "store", "atomic")


@dataclass(frozen=True)
class SiteRow:
    """One access, ready to print."""

    what: str
    """``load`` or ``shared store`` and so on."""
    access: str
    """As written in the kernel."""
    count: str
    rate: str
    efficiency: float
    """0 to 1; above 1 when lanes share what is moved; nan where it has no meaning."""
    note: str = ""


@dataclass(frozen=True)
class Total:
    """One line under the listing."""

    name: str
    value: str


def site_row(c: SiteCounts) -> SiteRow:
    """Describe one access site."""
    space = "" if c.site.space == "global" else f"{c.site.space} "
    what = f"{space}{c.site.kind}"
    if not c.instructions:
        return SiteRow(what, c.site.text, "never reached", "", float("nan"))
    if c.site.space == "global":
        rate = f"{c.sectors_per_request:.3g} sectors/request"
        return SiteRow(what, c.site.text, f"{c.instructions:,} requests", rate, c.efficiency)
    count = f"{c.instructions:,} instructions"
    if c.site.space == "shared":
        each = c.wavefronts / c.instructions
        rate = f"{each:.3g} wavefront{'' if each == 1 else 's'} each"
        note = f"{c.conflict_degree}-way conflict" if c.conflict_degree > 1 else ""
        return SiteRow(what, c.site.text, count, rate, c.ideal_wavefronts / c.wavefronts, note)
    return SiteRow(what, c.site.text, count, "", float("nan"))


def totals(p: LaunchCounts) -> list[Total]:
    """Say what there is to say about the whole launch; a kernel without shared memory has no line about it."""
    lanes = Total("lanes per instruction", f"{p.threads_per_instruction:.3g} of {p.warp_lanes}")
    return [
        Total("launch", _launch(p)), *_global(p), *_shared(p), *_copies(p), *_arithmetic(p), lanes, *_level(p.machine)
    ]  # fmt: skip


def _level(machine: MachineCode | None) -> Iterator[Total]:
    if machine is None:
        yield Total("counts", "source-level (as written; a compiler may merge or drop accesses)")
        return
    stored, loaded = machine.spill_store_bytes, machine.spill_load_bytes
    spills = f"spills: {stored:,} B stored, {loaded:,} B loaded" if stored or loaded else "no spills"
    yield Total("registers", f"{machine.registers} a thread, {spills}")
    major, minor = machine.cc
    by = f"as compiled for compute capability {major}.{minor} by {machine.compiler}"
    yield Total("counts", f"machine-level ({by})")


def _global(p: LaunchCounts) -> Iterator[Total]:
    for kind in _KINDS:
        requests, sectors = p.total("global", "instructions", kind), p.total("global", "sectors", kind)
        if requests:
            said = f"{requests:,} requests, {sectors:,} sectors, {sectors / requests:.3g} per request"
            yield Total(f"global {kind}s", said)
    if p.requests:
        moved = f"{p.requested_bytes:,} requested, {p.transferred_bytes:,} transferred"
        yield Total("bytes at L1", f"{moved}, efficiency {percent(p.efficiency)}")
        at_least = "" if p.dram_block_bytes else " (a lower bound: this card's DRAM block was not measured)"
        yield Total("bytes from DRAM", f"between {p.dram.compulsory:,}{at_least} and {p.dram.transferred:,}")


def _shared(p: LaunchCounts) -> Iterator[Total]:
    instructions = p.total("shared", "instructions")
    if instructions:
        extra = p.shared_wavefronts - p.ideal_shared_wavefronts
        said = f"{instructions:,} instructions, {p.shared_wavefronts:,} wavefronts ({extra:,} from bank conflicts)"
        yield Total("shared memory", said)


def _copies(p: LaunchCounts) -> Iterator[Total]:
    copies = p.copies
    if copies.commits or copies.waits:
        said = f"{copies.landed:,} requests landed, {copies.overlapped:,} of them while their block computed"
        yield Total("async copies", f"{said}; {copies.commits:,} commits, {copies.waits:,} waits of a warp")


def _arithmetic(p: LaunchCounts) -> Iterator[Total]:
    precisions = (("FP16", p.flops.fp16), ("FP32", p.flops.fp32), ("FP64", p.flops.fp64))
    if p.flops.total:
        yield Total("FLOP", ", ".join(f"{count:,} {name}" for name, count in precisions if count))
        low, high = p.arithmetic_intensity
        if p.dram.transferred:
            yield Total("arithmetic intensity", f"between {low:.3g} and {high:.3g} FLOP per DRAM byte")


def percent(fraction: float) -> str:
    """``12.5 %``; a dash where the fraction has no meaning."""
    return "-" if math.isnan(fraction) else f"{100 * fraction:.3g} %"


def number(value: float) -> str:
    """Whole numbers with separators, others with four digits; a dash for nan."""
    if math.isnan(value):
        return "-"
    return f"{value:,.0f}" if value == int(value) else f"{value:,.4g}"


def _launch(p: LaunchCounts) -> str:
    said = f"{p.kernel}[{_size(p.grid)}, {_size(p.block)}], {p.blocks:,} blocks, warps of {p.warp_lanes} lanes"
    if p.shared_bytes:
        said += f", {p.shared_bytes:,} B of shared memory a block"
    if p.sampled:
        said += f"; SAMPLED: {p.blocks_run:,} of {p.blocks:,} blocks ran, the counts are theirs, outputs are incomplete"
    return said


def _size(size: tuple[int, int, int]) -> str:
    kept = size[:3] if size[2] > 1 else size[:2] if size[1] > 1 else size[:1]
    return str(kept[0]) if len(kept) == 1 else str(kept)
