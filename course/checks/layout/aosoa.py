"""Exercise (c) of the chapter `layout`: find each record's place in tiles of arrays, lanes side by side."""

from __future__ import annotations

import random

import numpy as np

from course.checks.attempt import Launch, Watched
from course.checks.ideal import neighbours
from course.checks.kernel import Budget, KernelCheck, Sizes
from course.models.layout import Records, struct

__all__ = ["EXERCISE"]

_FIELDS = ("x", "y", "z")
_BLOCKS = (32, 64, 96, 128)
_HINT = "Which record does each lane take? Neighbouring lanes should take neighbouring records."


def _launch(sizes: Sizes, generator: np.random.Generator) -> Launch:
    n, tile, threads = sizes["n"], sizes["tile"], sizes["threads"]
    tiles = -(-n // tile)
    values = np.full((len(_FIELDS), tiles * tile), np.nan, np.float32)
    values[:, :n] = generator.uniform(1, 2, (len(_FIELDS), n))
    p = np.ascontiguousarray(values.reshape(len(_FIELDS), tiles, tile).transpose(1, 0, 2)).ravel()
    out = np.full(n, np.nan, np.float32)
    loads = Records(struct(dict.fromkeys(_FIELDS, "f4")), "aosoa", n, tile).traffic()
    return Launch(
        grid=-(-n // threads),
        block=threads,
        arguments=(p, out, tile),
        watched=(Watched("out", out, (values[:, :n] ** 2).sum(0)), Watched("p", p, p.copy())),
        budgets={"loads": {"sectors": loads.sectors}, "stores": {"sectors": neighbours(n)["sectors"]}},
    )


def _more(generator: random.Random) -> list[Sizes]:
    """Tiles of every kind, with a last one that is not full, and fewer records than a tile has room for."""
    sizes: list[Sizes] = []
    for tile in (8, 16, 24, 32, 40, 8 * generator.randint(6, 12)):
        n = tile * generator.randint(2, 9) + generator.randint(1, tile - 1)
        sizes.append({"n": n, "tile": tile, "threads": generator.choice(_BLOCKS)})
    return [*sizes, {"n": generator.randint(9, 30), "tile": 32, "threads": generator.choice(_BLOCKS)}]


EXERCISE = KernelCheck(
    name="layout/aosoa",
    kernel="energy",
    statement=(
        "`energy[blocks, threads](p, out, tile)` computes `out[i] = x*x + y*y + z*z` of record i. `p` is a float32 "
        "array of tiles: first the x of `tile` records, then their y, then their z; then comes the next tile. There "
        "are `out.size` records, and `p` has room for whole tiles: behind the last record it holds nothing useful. "
        "In the kernel that you get, a thread does a whole tile. Let each thread do one record instead, so that "
        "neighbouring lanes take neighbouring records. `tile` is any multiple of 8, and there is at least one thread "
        "for each record."
    ),
    keys={
        "p": "float32 array of whole tiles, 3 * tile elements each, read only",
        "out": "float32 array, one element for each record",
        "tile": "records of a tile, a multiple of 8",
    },
    result_points=1,
    finding_points=1,
    budgets=(Budget("loads", 3, "load", _HINT), Budget("stores", 1, "store", _HINT)),
    visible=(
        {"n": 1024, "tile": 32, "threads": 128},
        {"n": 1001, "tile": 8, "threads": 64},
        {"n": 500, "tile": 24, "threads": 64},
        {"n": 20, "tile": 32, "threads": 32},
    ),
    more=_more,
    launch=_launch,
)
