"""How many blocks an SM holds at once, what stops it from holding more, and what that buys.

*Occupancy* is resident warps / warp slots: capacity for hiding latency, not speed. A block needs warp
slots, a block slot, registers (handed out per warp, in units, from four partitions) and shared memory
(in units, with a reserved part), and the scarcest of them decides. The rules are those of NVIDIA's
calculator, cuda_occupancy.h, which is what ``cudaOccupancyMaxActiveBlocksPerMultiprocessor`` applies;
tests/models/test_occupancy.py holds this file to it on more than 100 000 configurations.

Every argument may be an array: a whole sweep is one call. Results have the shape the arguments
broadcast to.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from course.cards import Card, SmLimits, limits

from .coalescing import Integers

__all__ = [
    "UNLIMITED",
    "InFlight",
    "LaunchBounds",
    "Limiter",
    "Occupancy",
    "bytes_in_flight",
    "carveout_bytes",
    "in_flight",
    "largest_square_tile",
    "launch_bounds",
    "occupancy",
    "shared_bytes_for",
    "sweep",
]

UNLIMITED = 2**31 - 1
"""Blocks allowed by a resource that the kernel does not use, as NVIDIA's calculator writes it."""

Limiter = Literal["warps", "registers", "shared", "blocks", "barriers"]
Booleans = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Occupancy:
    """Blocks an SM can hold, by each limit and altogether; every array has the shape of the question."""

    limits: SmLimits
    warps_per_block: Integers
    registers_per_block: Integers
    """Registers handed to one block, after rounding."""
    shared_bytes_per_block: Integers
    """Shared memory handed to one block, after adding the reserved part and rounding."""
    blocks_by_warps: Integers
    blocks_by_registers: Integers
    blocks_by_shared: Integers
    blocks_by_slots: Integers
    blocks_by_barriers: Integers

    @property
    def blocks_per_sm(self) -> Integers:
        """Blocks resident on one SM; 0 means that the kernel cannot be launched like this."""
        fewest: Integers = np.minimum.reduce(list(self._by_limiter().values()))
        return fewest

    @property
    def warps_per_sm(self) -> Integers:
        """Warps resident on one SM."""
        return self.blocks_per_sm * self.warps_per_block

    @property
    def occupancy(self) -> Floats:
        """Resident warps / warp slots, 0 to 1."""
        return self.warps_per_sm / self.limits.warps_per_sm

    def limited_by(self, limiter: Limiter) -> Booleans:
        """Where this limit allows no more blocks than are resident (several limits can bind at once)."""
        by = self._by_limiter()
        if limiter not in by:
            raise ValueError(f"limiter is {limiter!r}: expected one of {', '.join(by)}.")
        binds: Booleans = by[limiter] == self.blocks_per_sm
        return binds

    @property
    def limiters(self) -> tuple[Limiter, ...]:
        """The limits that bind a single configuration."""
        if self.blocks_per_sm.size != 1:
            raise ValueError(f"{self.blocks_per_sm.size} configurations have no single answer: use limited_by(...).")
        return tuple(name for name in self._by_limiter() if self.limited_by(name).all())

    def _by_limiter(self) -> dict[Limiter, Integers]:
        return {
            "warps": self.blocks_by_warps,
            "registers": self.blocks_by_registers,
            "shared": self.blocks_by_shared,
            "blocks": self.blocks_by_slots,
            "barriers": self.blocks_by_barriers,
        }

    def __str__(self) -> str:
        blocks = self.blocks_per_sm
        if blocks.size != 1:
            low, high = 100 * self.occupancy.min(initial=1), 100 * self.occupancy.max(initial=0)
            return f"{blocks.size} configurations, occupancy {low:.4g} % to {high:.4g} %."
        if not blocks.all():
            return f"This block cannot be launched: too much for one block ({', '.join(self.limiters)})."
        resident = f"{int(blocks.item())} block{'' if blocks.item() == 1 else 's'}"
        return (
            f"{resident}, {int(self.warps_per_sm.item())} of {self.limits.warps_per_sm} warps, "
            f"occupancy {100 * self.occupancy.item():.4g} %, limited by {' and '.join(self.limiters)}."
        )


def occupancy(
    of: str | Card | SmLimits,
    threads_per_block: npt.ArrayLike,
    registers_per_thread: npt.ArrayLike = 32,
    shared_bytes_per_block: npt.ArrayLike = 0,
    *,
    opt_in: npt.ArrayLike = True,
    carveout_percent: npt.ArrayLike = -1,
) -> Occupancy:
    """Blocks per SM as NVIDIA's calculator counts them.

    of: a compute capability ("8.0"), a card's name or a `Card`.
    threads_per_block: 1 or more; more than a block may have gives 0 blocks.
    registers_per_thread: 0 to 255, as `get_regs_per_thread()` or ``-Xptxas -v`` reports them.
    shared_bytes_per_block: static and dynamic together, without the reserved part.
    opt_in: whether the kernel asked for more than 48 KiB of shared memory a block where it needs it.
    carveout_percent: preferred share of the largest shared memory, 0 to 100; -1 leaves it to the driver.
    """
    sm = limits(of)
    threads, registers, shared, preferred, may_opt_in = np.broadcast_arrays(
        _whole("threads_per_block", threads_per_block, 1),
        _whole("registers_per_thread", registers_per_thread, 0, sm.registers_per_thread),
        _whole("shared_bytes_per_block", shared_bytes_per_block, 0),
        carveout_bytes(sm, carveout_percent),
        np.asarray(opt_in, np.bool_),
    )
    warps = _divide_up(threads, sm.lanes_per_warp)
    by_warps = np.where(threads > sm.threads_per_block, 0, sm.warps_per_sm // warps)

    per_warp = _divide_up(registers * sm.lanes_per_warp, sm.registers_unit) * sm.registers_unit
    # The hardware's launch check counts a block's warps as if every partition got equally many.
    checked = per_warp * _divide_up(warps, sm.partitions_per_sm) * sm.partitions_per_sm
    warps_of_registers = sm.registers_per_sm // sm.partitions_per_sm // np.maximum(per_warp, 1) * sm.partitions_per_sm
    by_registers = np.where(per_warp == 0, UNLIMITED, warps_of_registers // warps)
    by_registers = np.where(checked > sm.registers_per_block, 0, by_registers)

    allocated = _divide_up(shared + sm.shared_reserved_bytes_per_block, sm.shared_unit_bytes) * sm.shared_unit_bytes
    largest = np.where(may_opt_in, sm.shared_bytes_per_block_opt_in, sm.shared_bytes_per_block)
    # A preference smaller than one block is overruled by the smallest carve-out that holds the block.
    pool = np.maximum(preferred, _carveout_for(sm, allocated))
    by_shared = np.where(allocated == 0, UNLIMITED, pool // np.maximum(allocated, 1))
    by_shared = np.where(allocated > largest + sm.shared_reserved_bytes_per_block, 0, by_shared)

    def everywhere(number: int) -> Integers:
        return np.broadcast_to(np.int64(number), warps.shape)

    return Occupancy(
        limits=sm,
        warps_per_block=warps,
        registers_per_block=per_warp * warps,
        shared_bytes_per_block=allocated,
        blocks_by_warps=by_warps,
        blocks_by_registers=by_registers,
        blocks_by_shared=by_shared,
        blocks_by_slots=everywhere(sm.blocks_per_sm),
        blocks_by_barriers=everywhere(UNLIMITED if sm.barriers_per_sm is None else sm.barriers_per_sm),
    )


def carveout_bytes(of: str | Card | SmLimits, carveout_percent: npt.ArrayLike = -1) -> Integers:
    """Shared memory of an SM under a preferred carve-out: the smallest size not below the preference.

    -1 (CUDA's default) is the largest size.
    """
    sm = limits(of)
    percent = _whole("carveout_percent", carveout_percent, -1, 100)
    return _carveout_for(sm, np.where(percent < 0, 100, percent) * sm.shared_bytes_per_sm // 100)


def sweep(
    of: str | Card | SmLimits,
    over: Literal["threads_per_block", "registers_per_thread", "shared_bytes_per_block"],
    *,
    threads_per_block: int = 256,
    registers_per_thread: int = 32,
    shared_bytes_per_block: int = 0,
    carveout_percent: int = -1,
) -> tuple[Integers, Occupancy]:
    """The occupancy curve over one variable through its whole range, the other two held: (values, occupancy)."""
    sm = limits(of)
    values = {
        "threads_per_block": np.arange(32, sm.threads_per_block + 1, 32),
        "registers_per_thread": np.arange(1, sm.registers_per_thread + 1),
        "shared_bytes_per_block": np.arange(0, sm.shared_bytes_per_block_opt_in + 1, 512),
    }
    if over not in values:
        raise ValueError(f"over is {over!r}: expected one of {', '.join(values)}.")
    chosen: Integers = values[over].astype(np.int64)
    question: dict[str, npt.ArrayLike] = {
        "threads_per_block": threads_per_block,
        "registers_per_thread": registers_per_thread,
        "shared_bytes_per_block": shared_bytes_per_block,
        over: chosen,
    }
    return chosen, occupancy(sm, *question.values(), carveout_percent=carveout_percent)


def shared_bytes_for(
    of: str | Card | SmLimits, blocks: int, *, threads_per_block: int = 256, registers_per_thread: int = 32
) -> int:
    """Largest shared memory of a block, in bytes, with which `blocks` blocks stay resident on one SM.

    Raises ValueError when they do not fit even without shared memory.
    """
    sm = limits(of)
    _whole("blocks", blocks, 1)
    without = occupancy(sm, threads_per_block, registers_per_thread)
    if without.blocks_per_sm < blocks:
        raise ValueError(f"{blocks} blocks do not fit, even without shared memory. {without}")
    sizes = np.arange(0, sm.shared_bytes_per_block_opt_in + 1, sm.shared_unit_bytes)
    fits = occupancy(sm, threads_per_block, registers_per_thread, sizes).blocks_per_sm >= blocks
    return int(sizes[fits][-1])


def largest_square_tile(
    of: str | Card | SmLimits,
    blocks: int,
    *,
    element_bytes: int = 4,
    tiles: int = 1,
    pad: int = 0,
    threads_per_block: int = 256,
    registers_per_thread: int = 32,
    multiple_of: int = 1,
) -> int:
    """Largest T so that `tiles` arrays [T][T + pad] leave `blocks` blocks resident on one SM; 0 if none does."""
    for name, number, least in (("element_bytes", element_bytes, 1), ("tiles", tiles, 1), ("pad", pad, 0)):
        _whole(name, number, least)
    step = int(_whole("multiple_of", multiple_of, 1))
    budget = shared_bytes_for(
        of, blocks, threads_per_block=threads_per_block, registers_per_thread=registers_per_thread
    )
    side = np.arange(0, int(np.sqrt(budget / (tiles * element_bytes))) + step + 1, step)
    return int(side[tiles * element_bytes * side * (side + pad) <= budget][-1])


@dataclass(frozen=True)
class LaunchBounds:
    """What a bound on the launch makes of a kernel's registers."""

    registers_wanted: int
    registers_allowed: int
    """Most registers a thread may have so that the bound holds."""
    before: Occupancy
    after: Occupancy

    @property
    def spilled_registers(self) -> int:
        """Registers beyond the bound. A compiler that finds no cheaper way keeps them in local memory (DRAM-backed)."""
        return max(0, self.registers_wanted - self.registers_allowed)

    @property
    def spilled_bytes_per_thread(self) -> int:
        """Local memory of these, 4 bytes each."""
        return 4 * self.spilled_registers

    def __str__(self) -> str:
        shift = f"occupancy {100 * self.before.occupancy.item():.4g} % to {100 * self.after.occupancy.item():.4g} %"
        if not self.spilled_registers:
            return (
                f"{self.registers_wanted} registers are within the allowed {self.registers_allowed}: no spill, {shift}."
            )
        return (
            f"{self.registers_wanted} registers are cut to {self.registers_allowed}: {shift}, "
            f"it may cost up to {self.spilled_bytes_per_thread} B of local memory a thread."
        )


def launch_bounds(
    of: str | Card | SmLimits,
    threads_per_block: int,
    blocks_per_sm: int,
    registers_wanted: int,
    *,
    shared_bytes_per_block: int = 0,
) -> LaunchBounds:
    """What ``launch_bounds=(threads_per_block, blocks_per_sm)`` makes of a kernel that wants so many registers."""
    sm = limits(of)
    wanted = int(_whole("registers_wanted", registers_wanted, 1, sm.registers_per_thread))
    counts = np.arange(1, sm.registers_per_thread + 1)
    fits = occupancy(sm, threads_per_block, counts, shared_bytes_per_block).blocks_per_sm >= blocks_per_sm
    if not fits.any():
        raise ValueError(
            f"{blocks_per_sm} blocks of {threads_per_block} threads do not fit on an SM with any number of "
            f"registers. {occupancy(sm, threads_per_block, 1, shared_bytes_per_block)}"
        )
    allowed = int(counts[fits][-1])
    before, after = (
        occupancy(sm, threads_per_block, count, shared_bytes_per_block) for count in (wanted, min(wanted, allowed))
    )
    return LaunchBounds(wanted, allowed, before, after)


def bytes_in_flight(latency_ns: npt.ArrayLike, gb_per_s: npt.ArrayLike) -> Floats:
    """Bytes that must be on their way at any time to use a bandwidth: latency x bandwidth (Little's law)."""
    latency, bandwidth = np.asarray(latency_ns, np.float64), np.asarray(gb_per_s, np.float64)
    for name, values in (("latency_ns", latency), ("gb_per_s", bandwidth)):
        if not (np.isfinite(values).all() and (values > 0).all()):
            raise ValueError(f"{name} must be finite and above 0, got {values}.")
    return np.asarray(latency * bandwidth)


@dataclass(frozen=True)
class InFlight:
    """Bytes that a kernel keeps on their way, beside those that full DRAM bandwidth needs."""

    offered_bytes: Floats
    needed_bytes: Floats
    dram_gb_per_s: float

    @property
    def share(self) -> Floats:
        """Share of the DRAM bandwidth that these bytes can draw, at most 1."""
        return np.minimum(self.offered_bytes / self.needed_bytes, 1.0)

    @property
    def attainable_gb_per_s(self) -> Floats:
        """The bandwidth that follows."""
        return self.share * self.dram_gb_per_s

    def __str__(self) -> str:
        return (
            f"{_range(self.offered_bytes / 1e6)} MB in flight of {_range(self.needed_bytes / 1e6)} MB needed: "
            f"at most {_range(self.attainable_gb_per_s)} GB/s of {self.dram_gb_per_s:g}."
        )


def in_flight(
    on: Card, warps_per_sm: npt.ArrayLike, bytes_per_lane: npt.ArrayLike, latency_ns: npt.ArrayLike
) -> InFlight:
    """Little's law for a kernel: `warps_per_sm` resident warps, each with `bytes_per_lane` x 32 bytes on their way.

    bytes_per_lane: bytes of all loads that one lane has issued and not yet used.
    """
    warps, per_lane = _whole("warps_per_sm", warps_per_sm, 0), _whole("bytes_per_lane", bytes_per_lane, 0)
    offered = np.asarray(warps * per_lane * limits(on).lanes_per_warp * on.multiprocessors, np.float64)
    return InFlight(offered, bytes_in_flight(latency_ns, on.dram_gb_per_s), on.dram_gb_per_s)


def _carveout_for(sm: SmLimits, wanted: Integers) -> Integers:
    sizes = np.array(sm.carveouts_kib, np.int64) * 1024
    place = np.minimum(np.searchsorted(sizes, wanted), len(sizes) - 1)
    found: Integers = sizes[place]
    return found


def _divide_up(numbers: Integers, by: int) -> Integers:
    return (numbers + (by - 1)) // by


def _range(values: Floats) -> str:
    low, high = float(np.min(values)), float(np.max(values))
    return f"{low:.3g}" if low == high else f"{low:.3g} to {high:.3g}"


def _whole(name: str, values: npt.ArrayLike, least: int, most: int | None = None) -> Integers:
    array = np.asarray(values)
    if not np.issubdtype(array.dtype, np.integer):
        raise TypeError(f"{name} is {values!r}: expected whole numbers.")
    if array.size and (array.min() < least or (most is not None and array.max() > most)):
        wrong = array[(array < least) | (array > (array.max() if most is None else most))].reshape(-1)[0]
        expected = f"{least} or more" if most is None else f"{least} to {most}"
        raise ValueError(f"{name} is {int(wrong)}: expected {expected}.")
    return array.astype(np.int64, copy=False)
