"""Exercise (a) of the chapter `tiling`: a function that finds the conflict degree of one shared request."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterable

from course.checks.function import Arguments, FunctionCheck, Group, WrongModel
from course.models import banks
from course.models.banks import BANK_BYTES, BANKS, Tile
from course.models.coalescing import WARP_LANES

__all__ = ["EXERCISE"]

_RANDOM_CASES = 6
"""Random cases of each group."""
_LARGEST_PAD = 5


def _reference(words: list[int]) -> int:
    return int(banks.conflict_degree(words)[0]) if words else 0


def _strided(stride: int, start: int = 0, lanes: int = WARP_LANES) -> list[int]:
    return [start + stride * lane for lane in range(lanes)]


def _rows(generator: random.Random) -> list[Arguments]:
    """Neighbouring words in any order: all banks once."""
    cases = []
    for _ in range(_RANDOM_CASES):
        words = _strided(1, generator.randrange(1000))
        generator.shuffle(words)
        cases.append((words,))
    return cases


def _strides(generator: random.Random) -> list[Arguments]:
    strides = [generator.choice((2, 6, 10)), generator.choice((4, 12, 20)), generator.choice((8, 24)),
               generator.choice((16, 48)), generator.choice((32, 64)), generator.choice((3, 31, 33, 35))]  # fmt: skip
    return [(_strided(stride, generator.randrange(100)),) for stride in strides]


def _tiles(generator: random.Random) -> list[Arguments]:
    """Rows and columns of padded tiles that are narrower than a warp, or as wide."""
    cases = []
    for columns in (8, 16, 32):
        for _ in range(2):
            tile = Tile(32, columns, generator.randint(0, _LARGEST_PAD))
            lanes = range(WARP_LANES)
            fast, slow = [lane % columns for lane in lanes], [lane // columns for lane in lanes]
            first = generator.randrange(32 // columns) if columns < 32 else generator.randrange(32)
            row, column = (fast, [first + s for s in slow]) if columns < 32 else (list(lanes), [first] * WARP_LANES)
            if columns < 32 and generator.random() < 0.5:
                row, column = [first + s for s in slow], fast
            cases.append(([int(address) // BANK_BYTES for address in tile.addresses(row, column)],))
    return cases


def _shared_words(generator: random.Random) -> list[Arguments]:
    """Full warps in which several lanes want the same word."""
    cases: list[Arguments] = [([generator.randrange(500)] * WARP_LANES,)]
    for _ in range(_RANDOM_CASES - 1):
        table = _strided(generator.choice((1, 2, 16, 32, 33)), generator.randrange(50), generator.randint(3, 12))
        cases.append(([generator.choice(table) for _ in range(WARP_LANES)],))
    return cases


def _few_lanes(generator: random.Random) -> list[Arguments]:
    cases = []
    for _ in range(_RANDOM_CASES):
        words = _strided(generator.choice((1, 4, 16, 32)), generator.randrange(50))
        active = sorted(generator.sample(range(WARP_LANES), generator.randint(1, 20)))
        cases.append(([words[lane] for lane in active],))
    return cases


def _scattered(generator: random.Random) -> list[Arguments]:
    sizes = (16, 64, 128, 512, 4096, 12288)
    return [([generator.randrange(size) for _ in range(WARP_LANES)],) for size in sizes]


def _most(counted: Iterable[int]) -> int:
    return max(Counter(counted).values(), default=0)


def _used(words: list[int]) -> int:
    return len({word % BANKS for word in words})


_FULLEST = "Find the bank of each word. Which bank must deliver most, and how many different words are these?"

EXERCISE = FunctionCheck(
    name="tiling/conflict_degree",
    function="conflict_degree",
    statement=(
        "Write `conflict_degree(words)`: the conflict degree of one request of one warp to shared memory. Every active "
        "lane wants one 4-byte word, and word number w lies in bank w % 32. The conflict degree is the largest number "
        "of different words that are wanted from one bank. Lanes that want the same word share it. A request without "
        "any active lane has the degree 0."
    ),
    keys={"words": "list with the number of the 4-byte word that each active lane wants, 0 or more, in any order"},
    reference=_reference,
    groups=(
        Group("rows", 1, f"Here all words are neighbours. {_FULLEST}", ((_strided(1),), (_strided(1, 7),)), _rows),
        Group(
            "strides",
            1,
            f"The lanes are a stride apart. {_FULLEST}",
            ((_strided(32),), (_strided(2),), (_strided(33),), (_strided(36),)),
            _strides,
        ),
        Group(
            "same word",
            1,
            "Several lanes want the same word here. A bank delivers a word once, to all lanes that want it.",
            (([5] * WARP_LANES,), ([0, 32, 0, 32, 64, 0],), ([3, 3, 35, 35, 4, 4],)),
            _shared_words,
        ),
        Group(
            "few lanes",
            1,
            "Only the words in the list are wanted. Think of the empty list, too.",
            (([],), ([64],), ([0, 32, 96],), ([1, 2, 3],)),
            _few_lanes,
        ),
        Group(
            "tiles",
            1,
            f"The words lie in a tile whose rows may have a pad. {_FULLEST}",
            (
                ([lane // 16 * 17 + lane % 16 for lane in range(WARP_LANES)],),
                ([lane % 16 * 17 + lane // 16 for lane in range(WARP_LANES)],),
                ([lane % 8 * 8 + lane // 8 for lane in range(WARP_LANES)],),
            ),
            _tiles,
        ),
        Group(
            "scattered",
            1,
            f"The words follow no rule. {_FULLEST}",
            (([40, 8, 72, 9, 41, 9, 8, 104],), ([100, 4, 36, 5, 37, 69, 101, 133],)),
            _scattered,
        ),
    ),
    wrong_models=(
        WrongModel(
            "Your function counts the lanes that meet in a bank. Lanes that want the same word share it: count "
            "different words.",
            (lambda words: _most(word % BANKS for word in words),),
        ),
        WrongModel(
            "Your function counts the different words of all banks together. The banks work at the same time: look for "
            "the one that has most to do.",
            (lambda words: len(set(words)),),
        ),
        WrongModel(
            "Your function counts the active lanes.",
            (len,),
        ),
        WrongModel(
            "Your function counts the banks at work. Asked is how many different words the fullest of them delivers.",
            (_used,),
        ),
        WrongModel(
            "Your function divides words by banks. That is the average; the fullest bank decides.",
            (
                lambda words: -(-len(set(words)) // _used(words)) if words else 0,
                lambda words: -(-len(words) // _used(words)) if words else 0,
                lambda words: len(set(words)) / _used(words) if words else 0,
                lambda words: -(-len(set(words)) // BANKS),
            ),
        ),
        WrongModel(
            "Your function counts how many lanes want the same word. That is a broadcast, and it costs nothing.",
            (lambda words: _most(words),),
        ),
        WrongModel(
            "Your function uses the distance of the first two lanes. This is right only when all lanes are the same "
            "stride apart.",
            (
                lambda words: math.gcd(words[1] - words[0], BANKS) if len(words) > 1 else len(words),
                lambda words: math.gcd(words[1] - words[0], BANKS) if len(words) > 1 else 1,
            ),
        ),
        WrongModel(
            "Your function divides by four first. The list holds numbers of words, not of bytes.",
            (lambda words: _most(word // BANK_BYTES % BANKS for word in set(words)),),
        ),
        WrongModel(
            "Your function multiplies by four first: bytes. The list holds words, and a bank is one word wide.",
            (lambda words: _most(word * BANK_BYTES % BANKS for word in set(words)),),
        ),
        WrongModel(
            "Your function gives the extra wavefronts. The degree counts the first one, too.",
            (
                lambda words: max(_reference(words) - 1, 0),
                lambda words: _reference(words) - 1,
            ),
        ),
        WrongModel(
            "Your function counts the banks in which words collide. Asked is how many words collide in the fullest.",
            (lambda words: sum(n > 1 for n in Counter(word % BANKS for word in set(words)).values()),),
        ),
        WrongModel(
            "Your function takes a tile row for a bank: it divides by 32. The bank is the remainder.",
            (lambda words: _most(word // BANKS for word in set(words)),),
        ),
    ),
)
