"""Exercise (d) of the chapter `cp_async`: the widest legal copy for six tiles."""

from __future__ import annotations

import math
from dataclasses import dataclass

from course.checks.parts import Misconception, Number
from course.checks.question import Question
from course.models.pipeline import COPY_BYTES, widest_copy

__all__ = ["QUESTION", "SITUATIONS", "Tile"]

_WIDTHS = COPY_BYTES["ca"]
_NARROW, _MIDDLE, _WIDE = _WIDTHS


@dataclass(frozen=True)
class Tile:
    """Rows of a matrix that a block copies to a tile in shared memory, row by row."""

    element_bytes: int
    matrix_columns: int
    tile_columns: int
    """Columns that are copied."""
    tile_pitch: int
    """Elements from row to row of the tile in shared memory."""

    @property
    def alignment_bytes(self) -> int:
        """Every row starts, on both sides, at a multiple of this and of no more."""
        return self.element_bytes * math.gcd(self.matrix_columns, self.tile_columns, self.tile_pitch)

    @property
    def widest(self) -> int:
        """Bytes of the widest legal copy; 0 when there is none."""
        return widest_copy(self.element_bytes * self.tile_columns, self.alignment_bytes)


SITUATIONS = {
    "plain": Tile(4, 1000, 32, 32),
    "odd": Tile(4, 1001, 32, 32),
    "even": Tile(4, 1002, 32, 32),
    "padded": Tile(4, 1000, 32, 33),
    "padded_by_four": Tile(4, 1000, 32, 36),
    "pixels": Tile(1, 1001, 64, 64),
}
_TEXTS = {
    "plain": "a float32 matrix with 1000 columns, a tile `[32][32]`",
    "odd": "a float32 matrix with 1001 columns, a tile `[32][32]`",
    "even": "a float32 matrix with 1002 columns, a tile `[32][32]`",
    "padded": "a float32 matrix with 1000 columns, a tile `[32][33]` of which 32 columns are filled",
    "padded_by_four": "a float32 matrix with 1000 columns, a tile `[32][36]` of which 32 columns are filled",
    "pixels": "an image of one byte a pixel with 1001 columns, a tile `[64][64]`",
}


def _misconceptions(tile: Tile) -> tuple[Misconception, ...]:
    """One sentence for every other width, and for numbers that are no width of a copy."""
    answer = tile.widest
    said = {
        0: "This says that no copy is legal. Is there a width of which both addresses are always multiples?",
        _NARROW: "One float at a time is legal, but a wider copy is legal, too."
        if answer > _NARROW
        else "Rows of this matrix start at any byte, and the address of a copy must be a multiple of its width.",
        _MIDDLE: "Two floats at a time are legal, but a wider copy is legal, too."
        if answer > _MIDDLE
        else "Some rows start at an address that is no multiple of this width. Look at both sides.",
        _WIDE: "Some rows start at an address that is no multiple of this width. Look at the matrix and at the tile.",
    }
    wrong = [Misconception(width, sentence) for width, sentence in said.items() if width != answer]
    if tile.element_bytes not in (0, *_WIDTHS):
        wrong.append(
            Misconception(tile.element_bytes, "This is one element. There is no copy that moves so few bytes.")
        )
    row = tile.element_bytes * tile.tile_columns
    wrong.append(Misconception(row, "This is a whole row of the tile. One thread copies less than that at a time."))
    return tuple(wrong)


QUESTION = Question(
    name="cp_async/widths",
    statement=(
        "A block brings a tile of a matrix to shared memory with `cp_async`, row by row. The first column of the tile "
        "is a multiple of the columns that are filled. The matrix and the tile both start at a multiple of 256 bytes, "
        "and their rows follow one another without a gap. Give the widest copy that is legal for **every** row, in "
        "bytes, or 0 where no width is."
    ),
    parts=tuple(
        Number(
            name=name,
            points=1,
            asks=_TEXTS[name],
            unit="bytes",
            expected=tile.widest,
            hint="At which addresses do the rows start, in the matrix and in the tile? Both must be multiples of the "
            "width.",
            misconceptions=_misconceptions(tile),
        )
        for name, tile in SITUATIONS.items()
    ),
)
