"""Exercise (a) of the chapter `coalescing`: a function that counts the sectors of one request."""

from __future__ import annotations

import itertools
import random

from course.checks.function import Arguments, FunctionCheck, Group, WrongModel
from course.models.coalescing import ACCESS_BYTES, LINE_BYTES, SECTOR_BYTES, WARP_LANES, lane_addresses, units_touched

__all__ = ["EXERCISE"]

_RANDOM_CASES = 6
"""Random cases of each group."""


def _reference(addresses: list[int], size: int) -> int:
    return len(units_touched(addresses, size))


def _strided(stride: int, size: int, *, offset: int = 0, lanes: int = WARP_LANES) -> Arguments:
    """Arguments of one call: the lanes' addresses at an element stride, and the element size."""
    return lane_addresses(stride, offset, size, lanes=lanes)[0].tolist(), size


def _neighbours(generator: random.Random) -> list[Arguments]:
    sizes = generator.sample(ACCESS_BYTES, len(ACCESS_BYTES))
    return [_strided(1, size, offset=LINE_BYTES * generator.randrange(50)) for size in sizes]


def _strides(generator: random.Random) -> list[Arguments]:
    return [_strided(generator.randint(2, 40), generator.choice(ACCESS_BYTES)) for _ in range(_RANDOM_CASES)]


def _starts(generator: random.Random) -> list[Arguments]:
    return [
        _strided(1, generator.choice(ACCESS_BYTES), offset=generator.randrange(1, 200)) for _ in range(_RANDOM_CASES)
    ]


def _orders(generator: random.Random) -> list[Arguments]:
    """Full warps in a shuffled order, drawn from fewer elements than lanes."""
    cases = []
    for _ in range(_RANDOM_CASES):
        size = generator.choice(ACCESS_BYTES)
        table = _strided(generator.choice((1, 2, 3, 5)), size, lanes=generator.randint(8, 24))[0]
        cases.append(([generator.choice(table) for _ in range(WARP_LANES)], size))
    return cases


def _few_lanes(generator: random.Random) -> list[Arguments]:
    cases = []
    for _ in range(_RANDOM_CASES):
        addresses, size = _strided(generator.choice((1, 2, 4, 9)), generator.choice(ACCESS_BYTES))
        active = sorted(generator.sample(range(WARP_LANES), generator.randint(1, 20)))
        cases.append(([addresses[lane] for lane in active], size))
    return cases


def _gathers(generator: random.Random) -> list[Arguments]:
    """Random elements of a small table, so that some lanes meet in a sector, and of a large one."""
    cases = []
    for table_bytes in (1 << 10, 1 << 11, 1 << 12, 1 << 16, 1 << 20, 1 << 30):
        size = generator.choice(ACCESS_BYTES)
        cases.append(([size * generator.randrange(table_bytes // size) for _ in range(WARP_LANES)], size))
    return cases


def _ideal(addresses: list[int], size: int) -> int:
    """Sectors that the payload would fill when packed."""
    return -(-len(addresses) * size // SECTOR_BYTES)


def _span(addresses: list[int], size: int) -> int:
    return max(addresses) - min(addresses) + size if addresses else 0


EXERCISE = FunctionCheck(
    name="coalescing/sectors",
    function="sectors",
    statement=(
        "Write `sectors(addresses, size)`: how many 32-byte sectors does one request of one warp touch? Return a "
        "whole number. The lanes come in any order, some may read the same address, and some may be switched off: "
        "then the list is shorter. A request without any active lane touches nothing."
    ),
    keys={
        "addresses": "list of the byte addresses that the active lanes read, each a multiple of `size`",
        "size": "bytes that each lane reads: 1, 2, 4, 8 or 16",
    },
    reference=_reference,
    groups=(
        Group(
            "neighbours",
            1,
            "Neighbouring lanes read neighbouring elements here: which of them share a sector?",
            (_strided(1, 4), _strided(1, 8)),
            _neighbours,
        ),
        Group(
            "strides",
            1,
            "The lanes leave gaps here: a sector in which no lane reads is not touched.",
            (_strided(8, 4), _strided(2, 4), _strided(-1, 4, offset=31)),
            _strides,
        ),
        Group(
            "starts",
            1,
            "The first address is not always the start of a sector: which sector does each address lie in?",
            (_strided(1, 4, offset=1), _strided(1, 4, offset=8), _strided(1, 1, offset=16)),
            _starts,
        ),
        Group(
            "order and repeats",
            1,
            "Lanes come in any order, and a sector that is met again later costs nothing more.",
            (([0, 32, 0, 32, 0, 32], 4), _strided(0, 4, offset=3), ([96, 0, 64, 32, 100, 4, 68, 36], 4)),
            _orders,
        ),
        Group(
            "few lanes",
            1,
            "Only the addresses in the list are read. Think of the empty list, too.",
            (([], 4), ([64], 4), ([0, 124], 4)),
            _few_lanes,
        ),
        Group(
            "gathers",
            1,
            "The addresses are scattered here: find the sector of each one, then count the different ones.",
            (([40, 3000, 44, 512, 3004, 1200, 60, 516], 4), ([16, 0, 4096, 32, 48, 4112], 16)),
            _gathers,
        ),
    ),
    wrong_models=(
        WrongModel(
            "Your function counts lines of 128 bytes. A line holds four sectors, and only touched ones are fetched.",
            (lambda a, size: len({x // LINE_BYTES for x in a}),),
        ),
        WrongModel(
            "Your function charges all four sectors of every line that is touched. Only touched sectors are fetched.",
            (lambda a, size: len({x // LINE_BYTES for x in a}) * LINE_BYTES // SECTOR_BYTES,),
        ),
        WrongModel(
            "Your function counts active lanes. Lanes that read in the same sector share it.",
            (lambda a, size: len(a),),
        ),
        WrongModel(
            "Your function counts different addresses. Different addresses can lie in the same sector.",
            (lambda a, size: len(set(a)),),
        ),
        WrongModel(
            "Your function divides the distance from first to last byte by 32. A sector between them counts only if "
            "a lane reads in it, and where the first byte lies matters, too.",
            (
                lambda a, size: _span(a, size) // SECTOR_BYTES,
                lambda a, size: -(-_span(a, size) // SECTOR_BYTES),
                lambda a, size: _span(a, size) / SECTOR_BYTES,
                lambda a, size: max(_span(a, size) - size, 0) // SECTOR_BYTES,
                lambda a, size: max(_span(a, size) - size, 0) // SECTOR_BYTES + 1 if a else 0,
            ),
        ),
        WrongModel(
            "Your function counts all sectors from the first to the last one. A sector in which no lane reads is not "
            "fetched.",
            (lambda a, size: max(a) // SECTOR_BYTES - min(a) // SECTOR_BYTES + 1 if a else 0,),
        ),
        WrongModel(
            "Your function divides the requested bytes by 32. That is the best case, when the bytes lie side by side "
            "and start a sector; look at the addresses instead.",
            (
                lambda a, size: len(a) * size // SECTOR_BYTES,
                _ideal,
                lambda a, size: len(a) * size / SECTOR_BYTES,
                lambda a, size: _ideal(a, size) + (min(a) % SECTOR_BYTES != 0) if a else 0,
            ),
        ),
        WrongModel(
            "Your function counts how often the sector changes from one lane to the next. A sector that comes back "
            "later is counted again; it is fetched once.",
            (lambda a, size: sum(1 for _ in itertools.groupby(a, lambda x: x // SECTOR_BYTES)),),
        ),
        WrongModel(
            "Your function treats addresses as element numbers and multiplies them by the size. They are in bytes "
            "already.",
            (lambda a, size: len({x * size // SECTOR_BYTES for x in a}),),
        ),
        WrongModel(
            "Your function divides addresses by the size first: its sectors are 32 elements long. A sector is 32 "
            "bytes, whatever the element.",
            (lambda a, size: len({x // size // SECTOR_BYTES for x in a}),),
        ),
        WrongModel(
            "Your function takes the end of an element for its last byte. An element that ends where a sector ends "
            "does not touch the next one.",
            (lambda a, size: len({sector for x in a for sector in (x // SECTOR_BYTES, (x + size) // SECTOR_BYTES)}),),
        ),
    ),
)
