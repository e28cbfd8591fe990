"""Practice with banks: where words lie, wide elements, a pad that helps nobody."""

from __future__ import annotations

from typing import Literal

from course.checks.parts import Misconception, Number
from course.checks.question import Question
from course.models.banks import BANK_BYTES, BANKS, BankConflicts, Tile, bank_of, wavefronts
from course.models.coalescing import WARP_LANES

__all__ = ["P1", "P2", "P3"]

# p1: the banks of a padded tile -------------------------------------------------------------------

_PADDED, _PLAIN = Tile(32, 32, 1), Tile(32, 32)
_ROW = 3
_COLUMN = 31


def _bank(tile: Tile, row: int, column: int) -> int:
    return int(bank_of(tile.addresses(row, column)).item())


_first, _last = _bank(_PADDED, _ROW, 0), _bank(_PADDED, _ROW, _COLUMN)
_words = int(_PADDED.addresses(_ROW, _COLUMN).item()) // BANK_BYTES

P1 = Question(
    name="tiling/p1",
    statement=(
        "A tile `t` of 32 x 32 floats has rows of 33 floats. Word 0 of it lies in bank 0. In which banks do elements "
        "of row 3 lie, and what does the pad cost?"
    ),
    parts=(
        Number(
            name="first",
            points=1,
            asks="the bank of t[3, 0]",
            expected=_first,
            hint="How many words come before it? The remainder after division by the number of banks is the bank.",
            misconceptions=(
                Misconception(_bank(_PLAIN, _ROW, 0), "This would be right without the pad."),
                Misconception(
                    int(_PADDED.addresses(_ROW, 0).item()) // BANK_BYTES,
                    "This is the number of its word. Which bank is it?",
                ),
                Misconception(
                    int(_PADDED.addresses(_ROW, 0).item()) % BANKS,
                    "This divides bytes by the number of banks. A bank is one word wide: divide by its bytes first.",
                ),
                Misconception(_ROW + 1, "Row 0 is not shifted at all, and each row by one more than the row before."),
            ),
        ),
        Number(
            name="last",
            points=1,
            asks="the bank of t[3, 31]",
            expected=_last,
            hint="How many words come before it? Start again at bank 0 when you run out of banks.",
            misconceptions=(
                Misconception(_COLUMN, "This would be right without the pad, or in row 0."),
                Misconception(_words, "This is the number of its word. Which bank is it?"),
                Misconception(_ROW + _COLUMN, "There are only 32 banks: start again at bank 0."),
            ),
        ),
        Number(
            name="pad_share",
            points=1,
            asks="the bytes of the pad, as a share of the tile without it",
            fraction=True,
            tolerance=1e-3,
            expected=_PADDED.pad_share,
            hint="One float for each row. How many floats had the row before?",
            misconceptions=(
                Misconception(1 / (32 * 32), "This is one float for the whole tile. Every row has one."),
                Misconception(1 / 33, "This is the share of the longer row. Compare with the tile without the pad."),
                Misconception(4 / 32, "This divides bytes by floats. Take bytes for both."),
            ),
        ),
    ),
    worked=(
        f"Three rows of 33 words come before `t[3, 0]`: it is word {3 * 33}, and {3 * 33} % 32 = **{_first}**. So row "
        f"3 is shifted by three banks. `t[3, 31]` is word {_words}, and {_words} % 32 = **{_last}**: the row goes on "
        "at bank 0.\n\nEach row is shifted by one bank more than the row before. So the 32 elements of a column lie in "
        "32 different banks, and so do the 32 elements of a row. The price is one float for each row of 32: "
        f"1/32 = **{_PADDED.pad_share:.4g}**, about {_PADDED.pad_share:.0%}."
    ),
)

# p2: elements of eight bytes ----------------------------------------------------------------------

_DOUBLE = 8


def _double(pad: int) -> BankConflicts:
    return Tile(32, 32, pad, _DOUBLE).access("column")


_wide, _wide_padded = (int(_double(pad).wavefronts[0]) for pad in (0, 1))
_least = int(_double(0).ideal_wavefronts[0])

P2 = Question(
    name="tiling/p2",
    statement=(
        "A tile holds 32 x 32 elements of 8 bytes (float64). A warp loads a column of it, lane i the element t[i, y]. "
        "How many shared wavefronts does it take?"
    ),
    parts=(
        Number(
            name="least",
            points=1,
            asks="wavefronts that any load of 32 different elements of 8 bytes takes at least",
            unit="wavefronts",
            expected=_least,
            hint="How many bytes does the warp want, and how many do all banks deliver in one wavefront?",
            misconceptions=(
                Misconception(1, "In one wavefront, the banks deliver one word each. How many words does a lane want?"),
                Misconception(WARP_LANES, "The banks work at the same time."),
                Misconception(_DOUBLE, "This is the size of an element. Count passes through the banks."),
            ),
        ),
        Number(
            name="wavefronts",
            points=1,
            asks="wavefronts of this load",
            unit="wavefronts",
            expected=_wide,
            hint="The warp is served in two groups of 16 lanes. In which two banks are the words of each lane?",
            misconceptions=(
                Misconception(
                    int(_double(0).degree[0]), "This is what one group of 16 lanes takes. The warp has two of them."
                ),
                Misconception(_least, "This is the cost without a conflict. In which banks do the elements lie?"),
                Misconception(
                    2 * WARP_LANES,
                    "This counts the words of all lanes. The two words of a lane lie in two banks, which work at the "
                    "same time.",
                ),
            ),
        ),
        Number(
            name="padded",
            points=1,
            asks="wavefronts of this load when each row has one element more",
            unit="wavefronts",
            expected=_wide_padded,
            hint="A pad of one element of 8 bytes shifts each row by how many banks? A group has 16 lanes.",
            misconceptions=(
                Misconception(1, "Each lane wants two words, so one wavefront cannot serve all lanes."),
                Misconception(
                    2 * _wide_padded,
                    "This would be right if a pad of two words left every second bank unused. But each lane wants two "
                    "words.",
                ),
                Misconception(_wide, "This is the cost without the pad."),
            ),
        ),
    ),
    worked=(
        f"32 lanes × 8 bytes are 256 bytes, and the banks deliver 128 in one wavefront: **{_least}** at least. The "
        "warp is served in two groups of 16 lanes.\n\nA row has 64 words, two turns through the banks. So in a column, "
        f"all lanes want their words from banks 0 and 1 (or from two others): {int(_double(0).degree[0])} wavefronts "
        f"for a group, **{_wide}** for the warp.\n\nWith one element more, a row has 66 words, and each lane's two "
        f"words lie two banks further on. 16 lanes reach all 32 banks: **{_wide_padded}** wavefronts, no conflict. A "
        "pad of *one element* is right for both sizes, because the group becomes smaller as the element becomes larger."
    ),
)

# p3: a block of 16 x 16 threads -------------------------------------------------------------------

_BLOCK = (16, 16)


def _degree(pad: int, kind: Literal["load", "store"], transposed: bool) -> int:
    addresses, exists = Tile(16, 16, pad).threads(_BLOCK, transposed=transposed)
    return int(wavefronts(addresses, BANK_BYTES, kind, exists).degree.max())


_store, _store_padded = (_degree(pad, "store", False) for pad in (0, 1))
_load, _load_padded = (_degree(pad, "load", True) for pad in (0, 1))
_SINGLE = Tile(32, 32).access("column")

P3 = Question(
    name="tiling/p3",
    statement=(
        "A block of 16 x 16 threads transposes a tile of 16 x 16 floats. Thread (x, y) stores to `t[y, x]` and loads "
        "from `t[x, y]`. A warp is two rows of the block. What are the conflict degrees?"
    ),
    parts=(
        Number(
            name="store",
            points=1,
            asks="conflict degree of the store without a pad",
            expected=_store,
            hint="The warp stores two rows of the tile. How many words lie between the first and the last one?",
            misconceptions=(
                Misconception(2, "Two rows of 16 words lie side by side: they are 32 neighbouring words."),
                Misconception(16, "This is the length of a row. Lanes along a row do not collide."),
                Misconception(0, "The degree counts the words in the fullest bank: there is at least one."),
            ),
        ),
        Number(
            name="load",
            points=1,
            asks="conflict degree of the load without a pad",
            expected=_load,
            hint="Lanes 0 to 15 go down a column. In how many different banks are its 16 words?",
            misconceptions=(
                Misconception(16, "A row has 16 words, half a turn. So the words of a column lie in two banks."),
                Misconception(int(_SINGLE.degree[0]), "This is the degree in a tile with rows of 32 words."),
                Misconception(1, "Down a column, words that are two rows apart lie in the same bank."),
                Misconception(2, "This counts the banks in which a column lies. How many of its words lie in each?"),
            ),
        ),
        Number(
            name="store_padded",
            points=1,
            asks="conflict degree of the store with rows of 17 floats",
            expected=_store_padded,
            hint="Where does the second row begin now, and where does it end?",
            misconceptions=(
                Misconception(1, "Write down the bank of the first lane and the bank of the last one."),
                Misconception(17, "This is the length of a row."),
                Misconception(16, "Only the two ends of the two rows meet. Not all lanes do."),
            ),
        ),
        Number(
            name="load_padded",
            points=1,
            asks="conflict degree of the load with rows of 17 floats",
            expected=_load_padded,
            hint="Write down the banks of lanes 0 to 15, and of lanes 16 to 31. Is one of them used twice?",
            misconceptions=(
                Misconception(1, "Down one column there is no conflict. But the warp goes down two of them."),
                Misconception(_load, "This is the degree without the pad."),
                Misconception(16, "The words of a column are 17 apart now, and lie in different banks."),
            ),
        ),
    ),
    worked=(
        f"Without a pad, the two rows of the store are 32 neighbouring words: degree **{_store}**. The load goes down "
        f"two columns. Words of a column are 16 apart, so they lie in two banks, {_load} in each: degree **{_load}**."
        f"\n\nWith rows of 17 floats, the second row begins at bank 17 and ends at bank 32 % 32 = 0, where the first "
        f"row began: degree **{_store_padded}** for the store, which had no conflict before. The load falls to "
        f"**{_load_padded}**: 16 different banks for each of the two columns, but the last word of the second column "
        "lies in the bank of the first word of the first one. A tile as wide as a warp is easier to get right."
    ),
)
