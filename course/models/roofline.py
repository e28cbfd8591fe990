"""How fast a kernel can be at most: the roofline model.

*Arithmetic intensity* is FLOP / DRAM bytes. A kernel attains at most min(intensity x bandwidth, peak); the two
limits meet at the *ridge*. The model knows nothing of latency: too few bytes in flight stay below the
roof (`course.models.occupancy.in_flight`), and DRAM bytes are counted after the caches.

Intensities may be arrays. A machine is a card's name, a `Card`, or a `Machine` with figures of your own.
Source: S. Williams, A. Waterman, D. Patterson, "Roofline: an insightful visual performance model" (2009).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from course.cards import UNITS, Card, Unit, card

__all__ = [
    "Attainable",
    "Bandwidth",
    "CpuOrGpu",
    "Machine",
    "TimeBounds",
    "attainable",
    "bandwidths",
    "cpu_or_gpu",
    "intensity",
    "machine",
    "ridge",
    "ridges",
    "time_bounds",
]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Machine:
    """A peak and a bandwidth: two roofs."""

    name: str
    peak_tflops: float
    gb_per_s: float

    def __post_init__(self) -> None:
        _positive("peak_tflops", self.peak_tflops)
        _positive("gb_per_s", self.gb_per_s)

    @property
    def ridge(self) -> float:
        """FLOP per byte where the roofs meet."""
        return self.peak_tflops * 1000 / self.gb_per_s

    def __str__(self) -> str:
        return (
            f"{self.name}: peak {self.peak_tflops:g} TFLOP/s, {self.gb_per_s:g} GB/s, ridge at {self.ridge:.4g} FLOP/B."
        )


@dataclass(frozen=True)
class Attainable:
    """Where kernels of these intensities stand under the roofs of one machine."""

    machine: Machine
    intensity: Floats
    """FLOP per DRAM byte."""
    attainable_tflops: Floats

    @property
    def share_of_peak(self) -> Floats:
        """Attainable / peak, 0 to 1."""
        return self.attainable_tflops / self.machine.peak_tflops

    @property
    def memory_bound(self) -> npt.NDArray[np.bool_]:
        """Whether the bandwidth is the lower roof (left of the ridge)."""
        return np.asarray(self.intensity < self.machine.ridge)

    def __str__(self) -> str:
        if self.intensity.size != 1:
            count = int(self.memory_bound.sum())
            return f"{self.intensity.size} kernels on {self.machine.name}: {count} memory-bound."
        bound = "memory-bound" if self.memory_bound.all() else "compute-bound"
        return (
            f"{self.intensity.item():.4g} FLOP/B on {self.machine.name} attains "
            f"{self.attainable_tflops.item():.4g} of {self.machine.peak_tflops:g} TFLOP/s "
            f"({100 * self.share_of_peak.item():.3g} %): {bound}, the ridge is at {self.machine.ridge:.4g}."
        )


def machine(on: str | Card | Machine, unit: Unit = "fp32") -> Machine:
    """The two roofs of a card for one unit ("fp64", "fp32", "tf32", "fp16", "bf16")."""
    if isinstance(on, Machine):
        return on
    found = card(on)
    return Machine(f"{found.name} {unit.upper()}", found.peak_tflops(unit), found.dram_gb_per_s)


def intensity(flop: npt.ArrayLike, dram_bytes: npt.ArrayLike) -> Floats:
    """Arithmetic intensity, FLOP per DRAM byte."""
    work, moved = _not_negative("flop", flop), np.asarray(dram_bytes, np.float64)
    if not (np.isfinite(moved).all() and (moved > 0).all()):
        raise ValueError(f"dram_bytes is {dram_bytes!r}: expected more than 0.")
    return np.asarray(work / moved)


def ridge(on: str | Card | Machine, unit: Unit = "fp32") -> float:
    """FLOP per DRAM byte from which a kernel is compute-bound: peak / bandwidth."""
    return machine(on, unit).ridge


def ridges(on: str | Card) -> dict[Unit, float]:
    """The ridge of every unit whose peak is known."""
    found = card(on)
    known = {}
    for unit in UNITS:
        try:
            known[unit] = found.ridge(unit)
        except ValueError:  # the vendor publishes no such peak
            continue
    return known


def attainable(flop_per_byte: npt.ArrayLike, on: str | Card | Machine, unit: Unit = "fp32") -> Attainable:
    """The most that kernels of these arithmetic intensities can attain: min(intensity x bandwidth, peak)."""
    roofs = machine(on, unit)
    at = _not_negative("flop_per_byte", flop_per_byte)
    return Attainable(roofs, at, np.minimum(at * roofs.gb_per_s / 1000, roofs.peak_tflops))


@dataclass(frozen=True)
class Bandwidth:
    """One sloped roof: a memory level and what it delivers."""

    level: str
    gb_per_s: float
    source: str


def bandwidths(on: str | Card) -> tuple[Bandwidth, ...]:
    """The sloped roofs of a card whose bandwidth is known: DRAM, and L2 and shared memory where published."""
    found = card(on)
    roofs = [Bandwidth("DRAM", found.dram_gb_per_s, found.source("dram_gb_per_s"))]
    if found.l2_gb_per_s is not None:
        roofs.append(Bandwidth("L2", found.l2_gb_per_s, found.source("l2_bytes_per_clock")))
    if found.shared_gb_per_s is not None:
        rule = 'computed: SMs x 32 banks x 4 B x clock (CUDA C++ Programming Guide, "Shared Memory")'
        roofs.append(Bandwidth("shared", found.shared_gb_per_s, rule))
    return tuple(roofs)


@dataclass(frozen=True)
class TimeBounds:
    """The least time that each resource needs for a kernel; the longest decides."""

    microseconds: dict[str, Floats]
    """By resource: "arithmetic", "DRAM" and, where bytes were given, "L2" and "shared"."""

    @property
    def total_us(self) -> Floats:
        """Lower bound of the time: the resources work at the same time, so the slowest one decides."""
        longest: Floats = np.maximum.reduce(list(self.microseconds.values()))
        return longest

    @property
    def bound(self) -> npt.NDArray[np.str_]:
        """The resource that decides."""
        names = np.array(list(self.microseconds))
        return np.asarray(names[np.argmax(np.stack(np.broadcast_arrays(*self.microseconds.values())), axis=0)])

    def __str__(self) -> str:
        if self.total_us.size != 1:
            return f"{self.total_us.size} kernels, {self.total_us.min():.4g} to {self.total_us.max():.4g} µs at least."
        each = ", ".join(f"{name} {time.item():.4g} µs" for name, time in self.microseconds.items())
        return f"At least {self.total_us.item():.4g} µs, bound by {self.bound.item()} ({each})."


def time_bounds(
    on: str | Card,
    unit: Unit = "fp32",
    *,
    flop: npt.ArrayLike,
    dram_bytes: npt.ArrayLike,
    l2_bytes: npt.ArrayLike | None = None,
    shared_bytes: npt.ArrayLike | None = None,
) -> TimeBounds:
    """The least time of a kernel by every roof: FLOP / peak, bytes of each level / its bandwidth.

    shared_bytes: 128 x shared wavefronts. Raises ValueError for a level whose bandwidth is not known.
    """
    found = card(on)
    known = {roof.level: roof.gb_per_s for roof in bandwidths(found)}
    times = {"arithmetic": np.asarray(_not_negative("flop", flop) / (found.peak_tflops(unit) * 1e6))}
    for level, moved in (("DRAM", dram_bytes), ("L2", l2_bytes), ("shared", shared_bytes)):
        if moved is None:
            continue
        if level not in known:
            raise ValueError(f"the {level} bandwidth of {found.name} is not known: leave its bytes out.")
        times[level] = np.asarray(_not_negative(f"{level} bytes", moved) / (known[level] * 1e3))
    return TimeBounds(times)


@dataclass(frozen=True)
class CpuOrGpu:
    """How many times faster a GPU can be than a CPU, by the roofs of both."""

    gpu: Machine
    cpu: Machine
    intensity: Floats
    speed_up: Floats
    """Attainable on the GPU / attainable on the CPU. Copies between the two are not in it."""

    @property
    def bandwidth_ratio(self) -> float:
        """The limit for memory-bound kernels."""
        return self.gpu.gb_per_s / self.cpu.gb_per_s

    @property
    def peak_ratio(self) -> float:
        """The limit for compute-bound kernels."""
        return self.gpu.peak_tflops / self.cpu.peak_tflops

    def __str__(self) -> str:
        ratios = f"bandwidth x {self.bandwidth_ratio:.3g}, peak x {self.peak_ratio:.3g}"
        low, high = float(self.speed_up.min()), float(self.speed_up.max())
        gain = f"{low:.3g}" if low == high else f"{low:.3g} to {high:.3g}"
        return f"{self.gpu.name} is at most {gain} times as fast as {self.cpu.name} ({ratios})."


def cpu_or_gpu(
    flop_per_byte: npt.ArrayLike,
    gpu: str | Card | Machine,
    cpu: str | Card | Machine = "desktop-cpu",
    unit: Unit = "fp32",
) -> CpuOrGpu:
    """Whether a GPU helps: the ratio of what both attain. `unit` is the GPU's; the CPU is taken at FP32 or FP64."""
    fast, slow = machine(gpu, unit), machine(cpu, "fp64" if unit == "fp64" else "fp32")
    at = _not_negative("flop_per_byte", flop_per_byte)
    if not (at > 0).all():
        raise ValueError("flop_per_byte is 0: expected more; without arithmetic only the bandwidths compare.")
    ratio = attainable(at, fast).attainable_tflops / attainable(at, slow).attainable_tflops
    return CpuOrGpu(fast, slow, at, np.asarray(ratio))


def _positive(name: str, value: float) -> None:
    if not (np.isfinite(value) and value > 0):
        raise ValueError(f"{name} is {value}: expected more than 0.")


def _not_negative(name: str, values: npt.ArrayLike) -> Floats:
    array = np.asarray(values, np.float64)
    if not (np.isfinite(array).all() and (array >= 0).all()):
        raise ValueError(f"{name} is {values!r}: expected finite numbers of 0 or more.")
    return array
