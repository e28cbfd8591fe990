"""Exercise (b) of the chapter `roofline`: which of eight kernels are memory-bound on a card, and on a slower one."""

from __future__ import annotations

from dataclasses import dataclass

from course.cards import card
from course.checks.parts import Choice, ChoiceSet, Misconception
from course.checks.question import Question
from course.models.roofline import attainable, intensity
from course.models.tiling import bytes_per_fma

__all__ = ["CARD", "KERNELS", "OTHER", "QUESTION", "Kernel"]

CARD, OTHER = "h100-sxm", "h100-pcie"
_FLOAT = 4
_VECTORS, _BODIES, _FLOP_OF_A_PAIR = 64, 4096, 20


@dataclass(frozen=True)
class Kernel:
    """What a kernel does, in words and in numbers of the same unit of work."""

    does: str
    flop: float
    dram_bytes: float
    not_memory_bound: str = ""
    """What to say when it is called memory-bound and is not."""
    keeps_its_side: str = ""
    """What to say when it is said to change its side."""

    @property
    def intensity(self) -> float:
        """FLOP per DRAM byte."""
        return float(intensity(self.flop, self.dram_bytes))


def _tile(side: int) -> float:
    return float(bytes_per_fma(side, _FLOAT))


_FAR_LEFT = "This one is far from the ridge of either card: too few FLOP for each byte."
_FAR_RIGHT = "This one is far from the ridge of either card: very many FLOP for each byte."

KERNELS = {
    "sum": Kernel(
        "adds up floats: for each float that is read, one addition",
        1, _FLOAT, keeps_its_side=_FAR_LEFT,
    ),
    "activation": Kernel(
        "for each element, reads a float, does 30 FLOP, writes a float",
        30, 2 * _FLOAT,
        keeps_its_side="Thirty FLOP look like much, but eight bytes move for them. It is left of both ridges.",
    ),
    "polynomial": Kernel(
        "for each element, reads a float, does 200 FLOP, writes a float",
        200, 2 * _FLOAT,
        "It moves as many bytes as the activation and does many more FLOP for them. Divide, then look at the ridge.",
    ),
    "matrix times vector": Kernel(
        "reads each element of a large matrix once, for one multiply-add; the vectors are small beside it",
        2, _FLOAT,
        keeps_its_side="Each element of the matrix serves one multiply-add only: far left of both ridges.",
    ),
    "matrix times 64 vectors": Kernel(
        "reads each element of a large matrix once, for one multiply-add with each vector; the vectors are small "
        "beside it",
        2 * _VECTORS, _FLOAT,
        "Each element of the matrix is read once and serves all the vectors. Count the multiply-adds for it.",
        "Count the multiply-adds for each element of the matrix. It is right of both ridges.",
    ),
    "tile 64": Kernel(
        "matrix product; each block stages tiles of 64 x 64 floats",
        2, _tile(64),
        keeps_its_side="It is left of the ridge of the faster memory already. Slower memory moves the ridge further "
        "to the right.",
    ),
    "tile 128": Kernel(
        "matrix product; each block stages tiles of 128 x 128 floats",
        2, _tile(128),
        "The intensity grows with the tile. How large is it for this one, and where is the ridge of this card?",
        "How many FLOP per byte has this tile? It is right of both ridges.",
    ),
    "n-body": Kernel(
        "each of 4096 bodies meets each other one, 20 FLOP for a pair; four floats of each body are read from DRAM "
        "once, and four are written",
        _FLOP_OF_A_PAIR * _BODIES**2, _BODIES * 8 * _FLOAT,
        "Every body is read once, and then meets all others: the FLOP grow with the square of the number of bodies.",
        _FAR_RIGHT,
    ),
}  # fmt: skip
"""The kernels by name."""


def _memory_bound(on: str) -> frozenset[str]:
    return frozenset(name for name, kernel in KERNELS.items() if attainable(kernel.intensity, on).memory_bound)


_here = _memory_bound(CARD)
(_changes,) = _here ^ _memory_bound(OTHER)
_options = {name: kernel.does for name, kernel in KERNELS.items()}
_card, _other = card(CARD), card(OTHER)

QUESTION = Question(
    name="roofline/classify",
    statement=(
        f"Which of these kernels are memory-bound on an {_card.name} ({_card.peak_tflops():g} TFLOP/s FP32, "
        f"{_card.dram_gb_per_s:g} GB/s)? All numbers are 4-byte floats. And which one changes its side on an "
        f"{_other.name} ({_other.peak_tflops():g} TFLOP/s, {_other.dram_gb_per_s:g} GB/s)?"
    ),
    parts=(
        ChoiceSet(
            name="memory_bound",
            points=4,
            asks=f"the kernels that are memory-bound on the {_card.name}",
            options=_options,
            expected=_here,
            hint="For each kernel, divide the FLOP by the bytes from DRAM. The ridge of the card is peak / bandwidth: "
            "left of it, the memory is the limit.",
            misconceptions=tuple(
                Misconception(name, kernel.not_memory_bound)
                for name, kernel in KERNELS.items()
                if kernel.not_memory_bound
            ),
        ),
        Choice(
            name="changes",
            points=1,
            asks=f"the kernel that is on the other side of the ridge on the {_other.name}",
            options=_options,
            expected=_changes,
            hint="Work out the ridges of both cards. Which kernel lies between them?",
            misconceptions=tuple(
                Misconception(name, kernel.keeps_its_side) for name, kernel in KERNELS.items() if kernel.keeps_its_side
            ),
        ),
    ),
)
