"""What the tile-size explorer can be set to, and the presets. Every number comes from `course.models.tiling`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from course.cards import CARDS, Card
from course.explorers.explorer import Preset, by_name
from course.models import tiling as model
from course.models.occupancy import Occupancy, occupancy

__all__ = ["LARGEST", "NVIDIA", "PRESETS", "SMALLEST", "TYPES", "Tiling"]

SMALLEST = 2
LARGEST = 32
"""A block of 32 x 32 threads has all 1024 that a block may have."""
_MATRIX = 64
"""Side of the matrices in the picture, or a little less: a multiple of the tile."""
TYPES = {4: "float32", 8: "float64"}
NVIDIA: dict[str, Card] = {name: card for name, card in CARDS.items() if card.compute_capability is not None}
"""The cards whose SM limits are known."""


@dataclass(frozen=True)
class Tiling:
    """A matrix product with one thread for each output, tile x tile threads a block."""

    tile: int = 16
    step: int = 1
    """Which tiles are staged now, from 1 on."""
    pad: int = 0
    element_bytes: int = 4
    card: str = "a100-80gb"
    registers: int = 32
    """Registers of a thread, as the compiler reports them."""

    @property
    def size(self) -> int:
        """Side of the matrices."""
        return _MATRIX // self.tile * self.tile

    @property
    def steps(self) -> int:
        """Tiles that lie side by side in a matrix."""
        return self.size // self.tile

    @property
    def product(self) -> model.Matmul:
        """What the whole product costs."""
        return _product(self.size, self.tile, self.pad, self.element_bytes)

    @property
    def sm(self) -> Occupancy:
        """What fits on an SM of the card."""
        return occupancy(NVIDIA[self.card], self.tile**2, self.registers, self.product.shared_bytes)

    @property
    def sweep(self) -> model.TileSweep:
        """All tile sizes under the same conditions."""
        return model.tile_sweep(
            NVIDIA[self.card],
            np.arange(SMALLEST, LARGEST + 1),
            pad=self.pad,
            registers_per_thread=self.registers,
            element_bytes=self.element_bytes,
        )


# The step, the card and the registers do not change what a product costs.
_product = lru_cache(maxsize=64)(model.matmul)


PRESETS = by_name(
    Preset(
        "T = 16",
        Tiling(),
        "256 threads a block. Each element comes from global memory once for 16 threads, and eight blocks fill the SM.",
    ),
    Preset(
        "T = 8",
        Tiling(tile=8),
        "64 threads a block. Half the reuse; and a row of 8 floats is 32 bytes, so a request is four rows of one "
        "sector each.",
    ),
    Preset(
        "T = 32",
        Tiling(tile=32),
        "1024 threads, as many as a block may have. The best reuse, but only two such blocks fit on an SM.",
    ),
    Preset(
        "T = 32 with 40 registers",
        Tiling(tile=32, registers=40),
        "A few registers more, and the second block no longer fits: half of the warp slots stay empty.",
    ),
    Preset(
        "T = 32 on a T4",
        Tiling(tile=32, card="t4"),
        "An SM of this card has 32 warp slots, and one block of 1024 threads takes all of them.",
    ),
    Preset(
        "T = 16, pad 1",
        Tiling(pad=1),
        "The pad that helps a transpose hurts here: a warp stores two rows of 17 floats, and two lanes meet in a bank.",
    ),
    Preset(
        "T = 32, pad 1",
        Tiling(tile=32, pad=1),
        "Nothing to repair: rows are read and written, no columns. The pad costs memory and repairs no conflict.",
    ),
    Preset(
        "T = 16, float64",
        Tiling(element_bytes=8),
        "Elements of twice the size: half the FLOP per byte, and twice the shared memory.",
    ),
    Preset(
        "T = 12",
        Tiling(tile=12),
        "144 threads are four and a half warps, and rows of 48 bytes start in the middle of a sector.",
    ),
)
