"""Exercise (d) of the chapter `roofline`: the smallest tile that makes a matrix product compute-bound on a card."""

from __future__ import annotations

from course.cards import Unit, card
from course.checks.parts import Misconception, Number
from course.checks.question import Question
from course.models.roofline import ridge
from course.models.tiling import arithmetic_intensity

__all__ = ["QUESTION", "smallest_tile"]

_FLOAT, _HALF = 4, 2
_THREADS, _LARGEST_BLOCK = 256, 1024


def smallest_tile(on: str, unit: Unit = "fp32", element_bytes: int = _FLOAT) -> int:
    """The smallest power of two T for which tiles of T x T elements lie at the ridge or right of it."""
    tile = 1
    while arithmetic_intensity(tile, element_bytes) < ridge(on, unit):
        tile *= 2
    return tile


def _power_of_two(least: float) -> int:
    power = 1
    while power < least:
        power *= 2
    return power


def _wrong(expected: int, found: float, edge: float) -> dict[int, str]:
    """Value -> sentence, for the smallest tile of a card whose ridge was found; `edge` is the tile at the ridge."""
    sentences = {
        round(edge): "This is where the ridge lies. The tile must be a power of two, and not left of it.",
        _power_of_two(found): "This takes the side of the tile for its intensity. How many FLOP are there for each "
        "byte that is staged?",
        round(found): "This is about the ridge. Which tile has so many FLOP per byte?",
        2 * expected: "This tile is on the right side, but it is not the smallest one.",
        expected // 2: "With this tile the kernel is still left of the ridge: it waits for memory.",
    }
    return {value: sentence for value, sentence in sentences.items() if value != expected}


def _part(name: str, on: str, unit: Unit = "fp32", element_bytes: int = _FLOAT) -> Number:
    expected, found = smallest_tile(on, unit, element_bytes), ridge(on, unit)
    wrong = _wrong(expected, found, expected * found / float(arithmetic_intensity(expected, element_bytes)))
    asks = f"the tile for the {card(on).name}"
    if unit != "fp32":
        asks += f" with {unit.upper()} tensor units and elements of {element_bytes} bytes"
        wrong[smallest_tile(on, unit)] = (
            "This is right for floats. Elements of half the size move half the bytes for the same FLOP."
        )
        wrong[smallest_tile(on)] = "This is the tile for ordinary FP32 units. Tensor units are much faster."
    return Number(
        name=name,
        points=1,
        asks=asks,
        unit="elements on each side",
        expected=expected,
        hint="The tile's intensity must reach the ridge, peak / bandwidth. How does it grow with the side of the tile?",
        misconceptions=tuple(Misconception(value, sentence) for value, sentence in wrong.items()),
    )


_A100 = smallest_tile("a100-80gb")

QUESTION = Question(
    name="roofline/smallest_tile",
    statement=(
        "A matrix product stages tiles of T x T elements; every block computes T x T results. What is the smallest "
        "T, a power of two, that makes it compute-bound? Count the bytes that are staged. The elements are floats of "
        "4 bytes, and ordinary FP32 units do the work, unless something else is said."
    ),
    parts=(
        _part("a100", "a100-80gb"),
        _part("h100_sxm", "h100-sxm"),
        _part("rtx_4090", "rtx-4090"),
        _part("a100_fp16", "a100-80gb", "fp16", _HALF),
        Number(
            name="results_per_thread",
            points=1,
            asks=f"results that each of {_THREADS} threads of a block must keep for your first tile, the one of the "
            f"{card('a100-80gb').name}",
            unit="results",
            expected=_A100**2 // _THREADS,
            hint="How many results has a tile? The threads of the block share them.",
            misconceptions=(
                Misconception(_A100**2, "These are all results of the tile. The threads share them."),
                Misconception(
                    _A100**2 // _LARGEST_BLOCK,
                    "This is the side of the square that a thread keeps, or the number for a larger block.",
                ),
                Misconception(1, "One thread for each result: so many threads do not fit in a block."),
                Misconception(_A100, "This is the side of the tile. How many results has the whole tile?"),
                Misconception(_THREADS / _A100**2, "This is upside down: threads for each result."),
            ),
        ),
    ),
)
