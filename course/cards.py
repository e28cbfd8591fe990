"""The cards of the course: limits, peaks and sizes, each figure with its source.

Two tables. `LIMITS` holds what NVIDIA fixes per compute capability (threads, registers, shared memory:
the input of `course.models.occupancy`). `CARDS` holds what differs from product to product. A figure
that its vendor does not publish is None, and `Card.source` says so instead of guessing. The cards
themselves are in cards.json, every figure beside its source.

Peaks are dense (no sparsity) and in 10^12 FLOP per second; bandwidths are in 10^9 bytes per second, as
vendors print them; sizes are in bytes. A fused multiply-add is two FLOP.
"""

from __future__ import annotations

import dataclasses
import difflib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import resources
from types import MappingProxyType
from typing import Literal, get_args

__all__ = ["CARDS", "LIMITS", "UNITS", "Card", "SmLimits", "Unit", "card", "limits"]

Unit = Literal["fp64", "fp32", "tf32", "fp16", "bf16"]
"""What does the arithmetic: ordinary units for FP64 and FP32, tensor (AMD: matrix) units for TF32, FP16 and BF16."""
UNITS: tuple[Unit, ...] = get_args(Unit)

KIB, MIB = 1024, 1024 * 1024


@dataclass(frozen=True)
class SmLimits:
    """What one SM of a compute capability offers, and in which units it hands it out."""

    compute_capability: str
    blocks_per_sm: int
    warps_per_sm: int
    shared_bytes_per_sm: int
    shared_bytes_per_block_opt_in: int
    """Largest shared memory of one block, after the kernel has asked for more than the default."""
    shared_reserved_bytes_per_block: int
    """What the driver takes from shared memory for itself, for every resident block."""
    shared_unit_bytes: int
    carveouts_kib: tuple[int, ...]
    """Sizes that shared memory can have on an SM; the rest of the pool is L1 cache."""
    l1_and_shared_bytes_per_sm: int
    fp32_lanes_per_sm: int
    fp64_lanes_per_sm: int
    barriers_per_sm: int | None = None
    """Block barriers of an SM; None before CC 9.0, where NVIDIA's calculator does not count them."""
    lanes_per_warp: int = 32
    threads_per_block: int = 1024
    registers_per_sm: int = 65536
    registers_per_block: int = 65536
    registers_per_thread: int = 255
    registers_unit: int = 256
    """Registers are handed to a warp in multiples of this."""
    partitions_per_sm: int = 4
    """Each partition has its own scheduler and an equal share of the registers."""
    shared_bytes_per_block: int = 48 * KIB
    """Largest shared memory of one block by default."""

    @property
    def threads_per_sm(self) -> int:
        """Resident threads of an SM at most."""
        return self.warps_per_sm * self.lanes_per_warp

    @property
    def has_async_copy(self) -> bool:
        """Whether `cp.async` exists: CC 8.0 and later (PTX ISA, "cp.async")."""
        return float(self.compute_capability) >= 8.0

    def source(self, figure: str) -> str:
        """Where a figure comes from, for example ``limits("8.0").source("blocks_per_sm")``."""
        names = [one.name for one in dataclasses.fields(SmLimits)]
        if figure not in names:
            raise KeyError(f"{figure!r} is no limit of an SM: expected one of {', '.join(names)}.")
        return _LIMIT_SOURCES.get(figure, _GUIDE)

    def __str__(self) -> str:
        return (
            f"An SM of compute capability {self.compute_capability} holds {self.blocks_per_sm} blocks, "
            f"{self.warps_per_sm} warps, {self.registers_per_sm} registers and "
            f"{self.shared_bytes_per_sm // KIB} KiB of shared memory at most."
        )


_GUIDE = 'CUDA Programming Guide, "Compute Capabilities", table of technical specifications'
_HEADER = "NVIDIA's occupancy calculator, cuda_occupancy.h (CUDA 13.0)"
_LIMIT_SOURCES = {
    "shared_reserved_bytes_per_block": f"{_GUIDE}: largest shared memory of an SM minus that of a block",
    "shared_unit_bytes": f"{_HEADER}, cudaOccSMemAllocationGranularity",
    "carveouts_kib": f"{_HEADER}, cudaOccAlignUpShmemSizeVoltaPlus",
    "l1_and_shared_bytes_per_sm": 'CUDA Programming Guide, "Compute Capabilities", unified data cache of an SM',
    "fp32_lanes_per_sm": 'CUDA Programming Guide, "Arithmetic Instructions", 32-bit multiply-adds per clock and SM',
    "fp64_lanes_per_sm": 'CUDA Programming Guide, "Arithmetic Instructions", 64-bit multiply-adds per clock and SM',
    "barriers_per_sm": f"{_HEADER}, cudaOccMaxBlocksPerSMBlockBarrierLimit",
    "registers_unit": f"{_HEADER}, cudaOccRegAllocationGranularity",
    "partitions_per_sm": f"{_HEADER}, cudaOccSubPartitionsPerMultiprocessor",
}

_TO_100 = (0, 8, 16, 32, 64, 100)
_TO_228 = (0, 8, 16, 32, 64, 100, 132, 164, 196, 228)


def _limits(
    capability: str,
    blocks: int,
    warps: int,
    shared_kib: int,
    carveouts: tuple[int, ...],
    pool_kib: int,
    lanes: tuple[int, int],
    barriers: int | None = None,
) -> SmLimits:
    ampere_or_later = float(capability) >= 8.0
    reserved = KIB if ampere_or_later else 0
    return SmLimits(
        compute_capability=capability,
        blocks_per_sm=blocks,
        warps_per_sm=warps,
        shared_bytes_per_sm=shared_kib * KIB,
        shared_bytes_per_block_opt_in=shared_kib * KIB - reserved,
        shared_reserved_bytes_per_block=reserved,
        shared_unit_bytes=128 if ampere_or_later else 256,
        carveouts_kib=carveouts,
        l1_and_shared_bytes_per_sm=pool_kib * KIB,
        fp32_lanes_per_sm=lanes[0],
        fp64_lanes_per_sm=lanes[1],
        barriers_per_sm=barriers,
    )


LIMITS: Mapping[str, SmLimits] = MappingProxyType(
    {
        row.compute_capability: row
        for row in (
            _limits("7.0", 32, 64, 96, (0, 8, 16, 32, 64, 96), 128, (64, 32)),
            _limits("7.5", 16, 32, 64, (32, 64), 96, (64, 2)),
            _limits("8.0", 32, 64, 164, (0, 8, 16, 32, 64, 100, 132, 164), 192, (64, 32)),
            _limits("8.6", 16, 48, 100, _TO_100, 128, (128, 2)),
            _limits("8.9", 24, 48, 100, _TO_100, 128, (128, 2)),
            _limits("9.0", 32, 64, 228, _TO_228, 256, (128, 64), 64),
            _limits("10.0", 32, 64, 228, _TO_228, 256, (128, 64), 64),
            _limits("12.0", 24, 48, 100, _TO_100, 128, (128, 2), 24),
        )
    }
)
"""Limits of one SM by compute capability."""


@dataclass(frozen=True)
class Card:
    """One product. `str(card)` is its one-line summary; `card.source(figure)` tells where a figure is from."""

    key: str
    name: str
    kind: Literal["gpu", "integrated gpu", "cpu"]
    multiprocessors: int
    """SMs (NVIDIA), compute units (AMD), GPU cores (Apple) or cores (CPU)."""
    dram_gb_per_s: float
    memory_gb: int | None
    clock_mhz: int | None
    """The clock at which the vendor states the FP32 peak."""
    fp32_lanes_per_multiprocessor: int | None
    fp32_tflops: float | None
    fp64_tflops: float | None
    tf32_tensor_tflops: float | None
    fp16_tensor_tflops: float | None
    """With FP32 accumulation where the vendor distinguishes."""
    bf16_tensor_tflops: float | None
    l2_bytes: int | None
    l2_bytes_per_clock: int | None
    lanes_per_warp: int | None
    register_bytes_per_multiprocessor: int | None
    shared_bytes_per_multiprocessor: int | None
    limits: SmLimits | None
    """Occupancy limits; None where NVIDIA's rules do not apply."""
    dram_granule_bytes: int | None
    """Block in which DRAM is read; None where nobody has measured it (32 B is then a lower bound)."""
    sources: Mapping[str, str] = field(repr=False, compare=False)
    """By figure: where it comes from or, for a figure that is None, why."""

    def source(self, figure: str) -> str:
        """Where a figure comes from, or why it is unknown."""
        if figure not in self.sources:
            raise KeyError(f"{figure!r} is no figure of a card: expected one of {', '.join(self.sources)}.")
        return self.sources[figure]

    def peak_tflops(self, unit: Unit = "fp32") -> float:
        """Peak of a unit in 10^12 FLOP per second; ValueError with the reason where it is unknown."""
        if unit not in UNITS:
            raise ValueError(f"unit is {unit!r}: expected one of {', '.join(UNITS)}.")
        figure = f"{unit}_tflops" if unit in ("fp64", "fp32") else f"{unit}_tensor_tflops"
        peak: float | None = getattr(self, figure)
        if peak is None:
            raise ValueError(f"{self.name} has no known {unit} peak: {self.source(figure)}")
        return peak

    def ridge(self, unit: Unit = "fp32") -> float:
        """FLOP per DRAM byte from which the arithmetic, not DRAM, is the limit: peak / bandwidth."""
        return self.peak_tflops(unit) * 1000 / self.dram_gb_per_s

    @property
    def compute_capability(self) -> str | None:
        """NVIDIA's compute capability; None for other vendors."""
        return self.limits.compute_capability if self.limits else None

    @property
    def shared_gb_per_s(self) -> float | None:
        """What all shared memories deliver together: 32 banks x 4 B per clock on every SM; None if not NVIDIA's."""
        if self.limits is None or self.clock_mhz is None:
            return None
        return self.multiprocessors * 128 * self.clock_mhz / 1000

    @property
    def l2_gb_per_s(self) -> float | None:
        """What L2 delivers; None where the vendor does not publish it."""
        if self.l2_bytes_per_clock is None or self.clock_mhz is None:
            return None
        return self.l2_bytes_per_clock * self.clock_mhz / 1000

    def __str__(self) -> str:
        peak = "an unpublished FP32 peak" if self.fp32_tflops is None else f"{self.fp32_tflops:g} TFLOP/s FP32"
        ridge = "" if self.fp32_tflops is None else f", ridge {self.ridge():.3g} FLOP/B"
        capability = f" (CC {self.compute_capability})" if self.limits else ""
        return f"{self.name}{capability}: {peak}, {self.dram_gb_per_s:g} GB/s of DRAM bandwidth{ridge}."


def card(name: str | Card) -> Card:
    """The card of a name such as ``"A100 80GB"``, ``"a100-80gb"`` or ``"H200"``; KeyError lists what there is."""
    if isinstance(name, Card):
        return name
    wanted = _plain(name)
    for key, found in CARDS.items():
        if wanted in (_plain(key), _plain(found.name)):
            return found
    near = [key for key in CARDS if _plain(key).startswith(wanted)] or difflib.get_close_matches(wanted, CARDS, n=2)
    hint = f" Did you mean {' or '.join(near)}?" if near else ""
    raise KeyError(f"no card is called {name!r}: expected one of {', '.join(CARDS)}.{hint}")


def limits(of: str | Card | SmLimits) -> SmLimits:
    """Occupancy limits of a compute capability ("8.0"), a card's name or a card."""
    if isinstance(of, SmLimits):
        return of
    if isinstance(of, str) and of in LIMITS:
        return LIMITS[of]
    if isinstance(of, str) and of.replace(".", "").isdigit():
        raise KeyError(f"compute capability {of} is not in the table: expected one of {', '.join(LIMITS)}.")
    found = card(of)
    if found.limits is None:
        raise ValueError(f"{found.name} has no occupancy limits here: {found.source('limits')}")
    return found.limits


def _plain(name: str) -> str:
    return "".join(letter for letter in name.lower() if letter.isalnum())


def _read() -> Mapping[str, Card]:
    content = json.loads(resources.files("course").joinpath("cards.json").read_text(encoding="utf-8"))
    texts: dict[str, str] = content["sources"]
    found = {}
    for row in content["cards"]:
        said = {name: value for name, value in row.items() if isinstance(value, list)}
        figures = {name: value for name, (value, _) in said.items()}
        sources = {name: texts[source] for name, (_, source) in said.items()}
        if "compute_capability" in row:
            sm = LIMITS[row["compute_capability"]]
            for name, value, limit in (
                ("limits", sm, "compute_capability"),
                ("fp32_lanes_per_multiprocessor", sm.fp32_lanes_per_sm, "fp32_lanes_per_sm"),
                ("lanes_per_warp", sm.lanes_per_warp, "lanes_per_warp"),
                ("register_bytes_per_multiprocessor", 4 * sm.registers_per_sm, "registers_per_sm"),
                ("shared_bytes_per_multiprocessor", sm.shared_bytes_per_sm, "shared_bytes_per_sm"),
            ):
                figures[name], sources[name] = value, sm.source(limit)
        found[row["key"]] = Card(
            key=row["key"],
            name=row["name"],
            kind=row.get("kind", "gpu"),
            sources=MappingProxyType(sources),
            **figures,
        )
    return MappingProxyType(found)


CARDS: Mapping[str, Card] = _read()
"""Every card by its key."""
