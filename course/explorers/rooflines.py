"""What the roofline explorer can be set to: a machine, what a kernel does for each element, and presets."""

from __future__ import annotations

from dataclasses import dataclass

from course.cards import CARDS, Unit
from course.explorers.explorer import Preset, by_name
from course.models.roofline import Attainable, Machine, attainable, intensity, machine, ridges

__all__ = ["PRESETS", "ROOFED", "UNIT_NAMES", "Settings", "beside"]

UNIT_NAMES: dict[Unit, str] = {
    "fp64": "FP64",
    "fp32": "FP32",
    "tf32": "TF32 (tensor units)",
    "fp16": "FP16 (tensor units)",
    "bf16": "BF16 (tensor units)",
}
ROOFED = {key: card for key, card in CARDS.items() if ridges(card)}
"""The cards whose peak is published, by key."""


@dataclass(frozen=True)
class Settings:
    """A machine (and one to compare it with), and the work for one element."""

    card: str = "a100-80gb"
    unit: Unit = "fp32"
    other: str = ""
    """Key of a second card; "" for none."""
    flop: int = 2
    reads: int = 2
    """Values read from global memory."""
    writes: int = 1
    value_bytes: int = 4
    others: bool = True
    """Whether the kernels of the presets are shown too."""

    @property
    def bytes(self) -> int:
        """Bytes moved for one element."""
        return self.value_bytes * (self.reads + self.writes)

    @property
    def intensity(self) -> float:
        """FLOP per byte."""
        return float(intensity(self.flop, self.bytes))

    @property
    def machine(self) -> Machine:
        """The card with its unit."""
        return machine(self.card, self.unit)

    @property
    def machines(self) -> list[Machine]:
        """The card, and the one beside it."""
        return [self.machine, *([beside(self.other, self.unit)] if self.other else [])]

    @property
    def result(self) -> Attainable:
        """What the kernel attains on the card."""
        return attainable(self.intensity, self.machine)

    @property
    def work(self) -> tuple[int, int, int, int]:
        """What makes two kernels the same to the model."""
        return self.flop, self.reads, self.writes, self.value_bytes


def beside(card: str, unit: Unit) -> Machine:
    """A second card at the same unit or, where its peak is not published, at FP32."""
    return machine(card, unit if unit in ridges(card) else "fp32")


PRESETS = by_name(
    Preset(
        "saxpy",
        Settings(flop=2, reads=2, writes=1),
        "y = a x + y: a multiply and an add for 12 bytes. Nearly all of the arithmetic units wait for DRAM.",
    ),
    Preset(
        "copy",
        Settings(flop=0, reads=1, writes=1),
        "No FLOP at all: only the bandwidth counts, and FLOP/s say nothing.",
    ),
    Preset(
        "20 FLOP a float",
        Settings(flop=20, reads=1, writes=1),
        "Read one float, do 20 FLOP, write one float. Ten times the arithmetic of saxpy, and still memory-bound.",
    ),
    Preset(
        "naive matmul",
        Settings(flop=2, reads=2, writes=0),
        "Every multiply-add reads two floats. An element here is one multiply-add; N cubed of them make a product.",
    ),
    Preset(
        "tiled matmul, T = 16",
        Settings(flop=32, reads=2, writes=0),
        "A float that a 16 x 16 tile brings to shared memory serves 16 threads: T / 4 FLOP per byte.",
    ),
    Preset(
        "tiled matmul, T = 32",
        Settings(flop=64, reads=2, writes=0),
        "The largest tile with one thread for each result: 8 FLOP per byte, close to the ridge.",
    ),
    Preset(
        "tiled matmul, T = 64",
        Settings(flop=128, reads=2, writes=0),
        "64 x 64 threads do not exist; here each of 16 x 16 threads keeps 4 x 4 results in registers.",
    ),
)
