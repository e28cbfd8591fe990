"""Exercise of the chapter `roofline`: three coalesced steps in one kernel, without the arrays between them."""

from __future__ import annotations

import random

import numpy as np

from course.checks.attempt import Launch, Watched
from course.checks.ideal import neighbours
from course.checks.kernel import Budget, KernelCheck, Sizes

__all__ = ["EXERCISE"]

_BLOCKS = (32, 64, 96, 128, 256)
_READ, _WRITTEN = 2, 1
"""Arrays that must come from memory, and arrays that must go there."""


def _launch(sizes: Sizes, generator: np.random.Generator) -> Launch:
    n, threads = sizes["n"], sizes["threads"]
    x, y = (generator.uniform(1, 2, n).astype(np.float32) for _ in range(2))
    a, b = (np.float32(generator.uniform(2, 3)) for _ in range(2))
    t, u, out = (np.full(n, np.nan, np.float32) for _ in range(3))
    squared = (a * x + y) ** 2
    each = neighbours(n)
    return Launch(
        grid=-(-n // threads),
        block=threads,
        arguments=(a, b, x, y, t, u, out),
        watched=(Watched("out", out, squared / (squared + b)), Watched("x", x, x.copy()), Watched("y", y, y.copy())),
        budgets={
            "loads": {number: _READ * most for number, most in each.items()},
            "stores": {number: _WRITTEN * most for number, most in each.items()},
        },
    )


def _more(generator: random.Random) -> list[Sizes]:
    """Several blocks of which the last is not full, and one block that is far from full."""

    def shape(n: int) -> Sizes:
        return {"n": n, "threads": generator.choice(_BLOCKS)}

    many = [shape(32 * generator.randint(30, 90) + generator.randint(1, 31)) for _ in range(4)]
    return [*many, shape(generator.randint(3, 30))]


EXERCISE = KernelCheck(
    name="roofline/fuse",
    kernel="fused",
    statement=(
        "`fused[blocks, threads](a, b, x, y, t, u, out)` does three steps: `t = a * x + y`, then `u = t * t`, then "
        "`out = u / (u + b)`. In the kernel that you get, every step writes to an array, and the next one reads it "
        "back. Nobody needs `t` and `u` afterwards. Do the three steps with two loads and one store for each element. "
        "The arrays have any length, and there are just enough blocks of `threads` threads."
    ),
    keys={
        "a, b": "float32 numbers",
        "x, y": "float32 arrays of the same length, read only",
        "t, u": "float32 arrays of the same length; nobody reads them afterwards",
        "out": "float32 array of the same length",
    },
    result_points=1,
    finding_points=1,
    budgets=(
        Budget(
            "loads", 1, "load", "x and y must come from memory. Which other loads ask for a value that the thread had "
            "in its hands a moment ago? A local variable stays in a register.",
        ),
        Budget("stores", 1, "store", "Which arrays does anybody read after the kernel?"),
    ),
    visible=({"n": 1024, "threads": 128}, {"n": 1001, "threads": 64}, {"n": 5, "threads": 32}),
    more=_more,
    launch=_launch,
)  # fmt: skip
