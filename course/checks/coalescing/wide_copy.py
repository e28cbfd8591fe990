"""Exercise (c) of the chapter `coalescing`: a copy with 128-bit accesses, from any start, for any length."""

from __future__ import annotations

import random

import numpy as np

from course.checks.attempt import Launch, Watched
from course.checks.ideal import neighbours
from course.checks.kernel import Budget, KernelCheck, Sizes
from course.simulator.device import DeviceArray

__all__ = ["EXERCISE"]

_FLOAT, _WIDE = 4, 16
_PER_WIDE = _WIDE // _FLOAT
_BEHIND = 9
"""Elements of the allocations behind the views."""
_BLOCKS = (32, 64, 96, 128)
_HINT = "One 128-bit access serves four neighbouring floats, and only the ends need single ones."


def _budget(start: int, n: int) -> dict[str, int]:
    """16 bytes a lane from the first multiple of 16 bytes on; at both ends a request for every single float."""
    head = min(-start % _PER_WIDE, n)
    wide, tail = divmod(n - head, _PER_WIDE)
    middle = neighbours(wide, _WIDE, base=_FLOAT * (start + head))
    return {number: most + head + tail for number, most in middle.items()}


def _launch(sizes: Sizes, generator: np.random.Generator) -> Launch:
    start, n, threads = sizes["start"], sizes["n"], sizes["threads"]
    values = generator.uniform(1, 2, start + n + _BEHIND).astype(np.float32)
    expected = np.full_like(values, np.nan)
    expected[start : start + n] = values[start : start + n]
    x, out = DeviceArray.copy_of(values), DeviceArray.copy_of(np.full_like(values, np.nan))
    budget = _budget(start, n)
    return Launch(
        grid=-(-n // (_PER_WIDE * threads)),
        block=threads,
        arguments=(x[start : start + n], out[start : start + n], start),
        watched=(Watched("out", out, expected), Watched("x", x, values)),
        budgets={"loads": budget, "stores": budget},
    )


def _more(generator: random.Random) -> list[Sizes]:
    """Every start modulo four with every remainder of the length, and views of fewer than four elements."""
    shift = generator.randrange(_PER_WIDE)

    def shape(start: int, n: int) -> Sizes:
        return {"start": start, "n": n, "threads": generator.choice(_BLOCKS)}

    many = [
        shape(_PER_WIDE * generator.randrange(3) + place, _PER_WIDE * generator.randint(60, 300) + (place + shift) % 4)
        for place in range(_PER_WIDE)
    ]
    return [*many, shape(generator.choice((2, 3, 6)), 4 * generator.randint(40, 200) + 2),
            shape(1, 1), shape(4, 3), shape(5, 2)]  # fmt: skip


EXERCISE = KernelCheck(
    name="coalescing/wide_copy",
    kernel="wide_copy",
    statement=(
        "`wide_copy[blocks, threads](x, out, start)` copies `x` to `out`. Both are views that begin at element `start` "
        "of an allocation, and an allocation begins at a multiple of 256 bytes. Use `cuda.load4` and `cuda.store4` for "
        "all elements that they can serve, and single loads and stores for the few at both ends. There is about one "
        "thread for every four elements; the length is anything from 1 up."
    ),
    keys={
        "x": "float32 view, read only",
        "out": "float32 view of the same length, with the same start",
        "start": "index of the views' first element in their allocations",
    },
    result_points=2,
    finding_points=2,
    budgets=(Budget("loads", 1, "load", _HINT), Budget("stores", 1, "store", _HINT)),
    visible=(
        {"start": 0, "n": 1024, "threads": 64},
        {"start": 1, "n": 1001, "threads": 128},
        {"start": 2, "n": 513, "threads": 32},
        {"start": 1, "n": 2, "threads": 32},
    ),
    more=_more,
    launch=_launch,
)
