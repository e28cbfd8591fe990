"""Exercise (a) of the chapter `cp_async`: how long the tiles take, with one buffer and with several."""

from __future__ import annotations

import random

from course.checks.function import Arguments, FunctionCheck, Group, WrongModel
from course.models import pipeline

__all__ = ["EXERCISE"]

_RANDOM_CASES = 5
"""Random cases of each group."""


def _reference(tiles: int, load: int, compute: int, stages: int) -> float:
    return float(pipeline.pipeline_time(tiles, load, compute, stages))


def _one_buffer(generator: random.Random) -> list[Arguments]:
    return [
        (generator.randint(2, 40), generator.randint(2, 30), generator.randint(2, 30), 1) for _ in range(_RANDOM_CASES)
    ]


def _compute_bound(generator: random.Random) -> list[Arguments]:
    loads = [generator.randint(2, 20) for _ in range(_RANDOM_CASES)]
    return [(generator.randint(3, 40), load, load + generator.randint(1, 30), 2) for load in loads]


def _load_bound(generator: random.Random) -> list[Arguments]:
    computes = [generator.randint(2, 20) for _ in range(_RANDOM_CASES)]
    return [(generator.randint(3, 40), compute + generator.randint(1, 30), compute, 2) for compute in computes]


def _more_buffers(generator: random.Random) -> list[Arguments]:
    return [
        (generator.randint(3, 40), generator.randint(1, 30), generator.randint(1, 30), stages) for stages in range(3, 8)
    ]


def _ends(generator: random.Random) -> list[Arguments]:
    """One tile, and tiles that cost nothing to load or to compute."""
    alone = [(1, generator.randint(1, 30), generator.randint(1, 30), stages) for stages in (1, 2, 5)]
    free = [(generator.randint(2, 40), 0, generator.randint(1, 30), 2), (generator.randint(2, 40), 7, 0, 3)]
    return [*alone, *free]


EXERCISE = FunctionCheck(
    name="cp_async/pipeline_time",
    function="pipeline_time",
    statement=(
        "Write `pipeline_time(tiles, load, compute, stages)`: the time from the first load to the end of the last "
        "computation. The memory brings the tiles in order, one at a time. With one buffer, a tile is loaded only "
        "after the one before it has been computed. With two or more buffers, the next load goes on while a tile is "
        "computed. Barriers, waits and the start of a copy take no time. A buffer is free for its next tile as soon "
        "as its tile has been computed."
    ),
    keys={
        "tiles": "number of tiles, 1 or more",
        "load": "time to load one tile, 0 or more",
        "compute": "time to compute one tile, 0 or more",
        "stages": "number of buffers, 1 or more",
    },
    reference=_reference,
    groups=(
        Group(
            "one buffer",
            1,
            "With one buffer, loading and computing take turns.",
            ((4, 5, 3, 1), (10, 2, 9, 1)),
            _one_buffer,
        ),
        Group(
            "computing is longer",
            1,
            "Here the computing sets the pace: draw the first three tiles. What can nothing hide?",
            ((4, 3, 5, 2), (10, 2, 9, 2)),
            _compute_bound,
        ),
        Group(
            "loading is longer",
            1,
            "Here the loads set the pace: draw the first three tiles. What can nothing hide?",
            ((4, 5, 3, 2), (10, 9, 2, 2)),
            _load_bound,
        ),
        Group(
            "more buffers",
            2,
            "The memory still brings one tile at a time. Does another buffer make the longer of the two any shorter?",
            ((4, 5, 3, 3), (10, 2, 9, 4), (6, 6, 6, 3)),
            _more_buffers,
        ),
        Group(
            "ends",
            1,
            "One tile has no other tile to hide behind, and a time may be zero.",
            ((1, 5, 3, 1), (1, 5, 3, 2), (5, 0, 4, 2)),
            _ends,
        ),
    ),
    wrong_models=(
        WrongModel(
            "Your function adds up all loads and all computing, whatever the number of buffers. With two, a load goes "
            "on while the tile before it is computed.",
            (lambda n, load, compute, stages: n * (load + compute),),
        ),
        WrongModel(
            "Your function divides the time by the number of buffers. Buffers do not make loading or computing faster: "
            "the longer of the two sets the pace.",
            (
                lambda n, load, compute, stages: n * (load + compute) / stages,
                lambda n, load, compute, stages: n * (load + compute) // stages,
            ),
        ),
        WrongModel(
            "Your function takes the longer of load and compute for each tile, and nothing else. The first load (or "
            "the last computation) stands alone.",
            (
                lambda n, load, compute, stages: n * max(load, compute),
                lambda n, load, compute, stages: n * (load + compute) if stages == 1 else n * max(load, compute),
            ),
        ),
        WrongModel(
            "Your function lets the computing set the pace, also where the loads are longer.",
            (lambda n, load, compute, stages: n * (load + compute) if stages == 1 else load + n * compute,),
        ),
        WrongModel(
            "Your function lets the loads set the pace, also where the computing is longer.",
            (lambda n, load, compute, stages: n * (load + compute) if stages == 1 else n * load + compute,),
        ),
        WrongModel(
            "Your function counts one step too many: while the first tile is loaded and while the last one is "
            "computed, only one of the two goes on.",
            (
                lambda n, load, compute, stages: (
                    n * (load + compute) if stages == 1 else load + n * max(load, compute) + compute
                ),
            ),
        ),
        WrongModel(
            "Your function overlaps the tiles also with one buffer. There the next load must wait until the tile is "
            "computed.",
            (lambda n, load, compute, stages: load + (n - 1) * max(load, compute) + compute,),
        ),
        WrongModel(
            "Your function lets more buffers bring more tiles at the same time. The memory brings one after the other.",
            (
                lambda n, load, compute, stages: (
                    n * (load + compute)
                    if stages == 1
                    else load + (n - 1) * max(load / (stages - 1), compute) + compute
                ),
                lambda n, load, compute, stages: (
                    n * (load + compute) if stages == 1 else load + (n - 1) * max(load / stages, compute) + compute
                ),
            ),
        ),
    ),
)
