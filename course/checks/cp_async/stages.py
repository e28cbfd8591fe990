"""Exercise (c) of the chapter `cp_async`: how many stages fit while so many blocks stay resident."""

from __future__ import annotations

import dataclasses
import random

from course.cards import LIMITS, SmLimits
from course.checks.function import Arguments, FunctionCheck, Group, WrongModel
from course.models.pipeline import largest_stages

__all__ = ["EXERCISE", "budget"]

_RANDOM_CASES = 5
"""Random cases of each group."""
_THREADS = 64
"""Of a block: few enough for shared memory to be the only limit."""


def budget(sm: SmLimits) -> dict[str, int]:
    """The numbers of an SM that matter here."""
    return {
        "sm_bytes": sm.shared_bytes_per_sm,
        "reserved_bytes": sm.shared_reserved_bytes_per_block,
        "unit_bytes": sm.shared_unit_bytes,
    }


def _limits(sm: dict[str, int]) -> SmLimits:
    """An SM with these numbers; a student's function may be asked about one that nobody sells."""
    return dataclasses.replace(
        LIMITS["9.0"],
        shared_bytes_per_sm=sm["sm_bytes"],
        shared_bytes_per_block_opt_in=sm["sm_bytes"] - sm["reserved_bytes"],
        shared_reserved_bytes_per_block=sm["reserved_bytes"],
        shared_unit_bytes=sm["unit_bytes"],
        carveouts_kib=(0, sm["sm_bytes"] // 1024),
    )


def _reference(tile_bytes: int, blocks: int, sm: dict[str, int]) -> float:
    return float(largest_stages(_limits(sm), tile_bytes, blocks, threads_per_block=_THREADS))


_A100, _H200, _T4, _L4 = (budget(LIMITS[name]) for name in ("8.0", "9.0", "7.5", "8.9"))
_CARDS = (_A100, _H200, _T4, _L4)


def _units_of(count: int, sm: dict[str, int]) -> int:
    """Bytes, rounded down to whole units."""
    return count // sm["unit_bytes"] * sm["unit_bytes"]


def _round_tiles(generator: random.Random) -> list[Arguments]:
    """Tiles of some KiB, with room to spare: what is reserved makes no difference yet."""
    cases: list[Arguments] = []
    while len(cases) < _RANDOM_CASES:
        tile, blocks, sm = 1024 * generator.choice((2, 4, 8, 16)), generator.randint(1, 6), generator.choice(_CARDS)
        if sm["sm_bytes"] // blocks // tile == _reference(tile, blocks, sm):
            cases.append((tile, blocks, sm))
    return cases


def _exactly(generator: random.Random) -> list[Arguments]:
    """Tiles that would fit once more if nothing were reserved for each block."""
    cases: list[Arguments] = []
    for sm in (_A100, _H200, _L4, _A100):
        blocks, stages = generator.randint(2, 6), generator.randint(2, 5)
        without = _units_of(sm["sm_bytes"] // blocks, sm)
        cases.append((_units_of(without // stages, sm), blocks, sm))
    return cases


def _units(generator: random.Random) -> list[Arguments]:
    """Tiles of odd sizes. Some just fit; the sum of the others does not when it is rounded up to a unit."""
    cases: list[Arguments] = []
    for sm in (_A100, _H200, _L4, _A100):
        blocks, stages = generator.choice((3, 5, 6, 7)), generator.randint(2, 5)
        room = sm["sm_bytes"] // blocks - sm["reserved_bytes"]
        cases.append((room // stages // 4 * 4, blocks, sm))
        cases.append((_units_of(room, sm) // stages // 4 * 4, blocks, sm))
    return cases


def _none(generator: random.Random) -> list[Arguments]:
    cases: list[Arguments] = []
    for sm in _CARDS:
        blocks = generator.randint(2, 4)
        cases.append((sm["sm_bytes"] // blocks + 128 * generator.randint(1, 9), blocks, sm))
    return cases


EXERCISE = FunctionCheck(
    name="cp_async/stages",
    function="most_stages",
    statement=(
        "Write `most_stages(tile_bytes, blocks, sm)`: the largest number of buffers of `tile_bytes` bytes each that a "
        "block can have while `blocks` blocks stay resident on an SM. Return 0 when not even one fits. Shared memory "
        "is the only limit. A block's shared memory is rounded up to whole units, and some bytes are reserved for each "
        "block on top."
    ),
    keys={
        "tile_bytes": "bytes of one buffer, a whole number",
        "blocks": "blocks that must be resident on one SM, 1 or more",
        "sm": "dict of `sm_bytes` (shared memory of an SM), `reserved_bytes` (taken for each block, on top) and "
        "`unit_bytes` (shared memory is handed out in multiples of this)",
    },
    reference=_reference,
    groups=(
        Group(
            "shares",
            2,
            "How much of the SM's shared memory is there for each block? How often does a buffer fit in that?",
            ((8192, 4, _A100), (4096, 3, _T4), (16384, 2, _H200)),
            _round_tiles,
        ),
        Group(
            "reserved",
            2,
            "Each resident block costs `reserved_bytes` on top of its own shared memory.",
            ((20864, 4, _A100), (17024, 2, _L4), (8192, 1, _H200)),
            _exactly,
        ),
        Group(
            "units",
            1,
            "A block's shared memory is rounded up to a multiple of `unit_bytes`. So only whole units of its share are "
            "of use.",
            ((8988, 6, _A100), (6720, 6, _A100), (8464, 13, _H200)),
            _units,
        ),
        Group(
            "none",
            1,
            "When a buffer is larger than the share of a block, not even one fits.",
            ((90000, 2, _A100), (40000, 2, _T4)),
            _none,
        ),
    ),
    wrong_models=(
        WrongModel(
            "Your function gives one block all of the SM's shared memory. The blocks share it.",
            (
                lambda tile, blocks, sm: sm["sm_bytes"] // tile,
                lambda tile, blocks, sm: (sm["sm_bytes"] - sm["reserved_bytes"]) // tile,
            ),
        ),
        WrongModel(
            "Your function forgets what is reserved for each block.",
            (
                lambda tile, blocks, sm: sm["sm_bytes"] // blocks // tile,
                lambda tile, blocks, sm: _units_of(sm["sm_bytes"] // blocks, sm) // tile,
            ),
        ),
        WrongModel(
            "Your function reserves bytes once for the SM. They are taken for every block.",
            (
                lambda tile, blocks, sm: (sm["sm_bytes"] - sm["reserved_bytes"]) // blocks // tile,
                lambda tile, blocks, sm: _units_of((sm["sm_bytes"] - sm["reserved_bytes"]) // blocks, sm) // tile,
            ),
        ),
        WrongModel(
            "Your function lets a block have bytes that are no whole unit. Its shared memory is rounded up.",
            (lambda tile, blocks, sm: (sm["sm_bytes"] // blocks - sm["reserved_bytes"]) // tile,),
        ),
        WrongModel(
            "Your function takes the reserved bytes for every buffer. They are taken once for each block.",
            (
                lambda tile, blocks, sm: sm["sm_bytes"] // blocks // (tile + sm["reserved_bytes"]),
                lambda tile, blocks, sm: _units_of(sm["sm_bytes"] // blocks, sm) // (tile + sm["reserved_bytes"]),
            ),
        ),
        WrongModel(
            "Your function rounds each buffer up to whole units. Only the sum of all buffers of a block is rounded up.",
            (lambda tile, blocks, sm: (sm["sm_bytes"] // blocks - sm["reserved_bytes"]) // -_units_of(-tile, sm),),
        ),
    ),
)
