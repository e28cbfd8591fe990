"""Exercise (b) of the chapter `coalescing`: each thread owns k elements; interleave them."""

from __future__ import annotations

import random

import numpy as np

from course.checks.attempt import Launch, Watched
from course.checks.ideal import neighbours
from course.checks.kernel import Budget, KernelCheck, Sizes

__all__ = ["EXERCISE"]

_BLOCKS = (32, 64, 96, 128, 256)
_HINT = "In one step of the loop, which element does each lane take? Neighbouring lanes should take neighbours."


def _launch(sizes: Sizes, generator: np.random.Generator) -> Launch:
    n, k, threads = sizes["n"], sizes["k"], sizes["threads"]
    x = generator.uniform(1, 2, n).astype(np.float32)
    a = np.float32(generator.uniform(2, 3))
    out = np.full(n, np.nan, np.float32)
    sectors = {"sectors": neighbours(n)["sectors"]}
    return Launch(
        grid=-(-n // (threads * k)),
        block=threads,
        arguments=(x, out, a, k),
        watched=(Watched("out", out, a * x), Watched("x", x, x.copy())),
        budgets={"loads": sectors, "stores": sectors},
    )


def _more(generator: random.Random) -> list[Sizes]:
    """Several blocks of which the last is not full, and one block that is far from full."""

    def shape(n: int) -> Sizes:
        return {"n": n, "k": generator.randint(2, 9), "threads": generator.choice(_BLOCKS)}

    many = [shape(32 * generator.randint(80, 200) + generator.randint(1, 31)) for _ in range(4)]
    return [*many, shape(generator.randint(17, 30))]


EXERCISE = KernelCheck(
    name="coalescing/scale",
    kernel="scale",
    statement=(
        "`scale[blocks, threads](x, out, a, k)` computes `out[i] = a * x[i]`, and each thread does k elements. In the "
        "kernel that you get, these k elements lie side by side. Choose other elements for each thread, so that every "
        "load and every store of a warp touches as few sectors as it can: 4 per request when the warp is full. The "
        "array has any length, and there are just enough blocks of `threads` threads."
    ),
    keys={
        "x": "float32 array, read only",
        "out": "float32 array of the same length",
        "a": "the factor, a float32",
        "k": "elements of each thread",
    },
    result_points=2,
    finding_points=2,
    budgets=(Budget("loads", 1, "load", _HINT), Budget("stores", 1, "store", _HINT)),
    visible=({"n": 4096, "k": 4, "threads": 128}, {"n": 1001, "k": 3, "threads": 64}, {"n": 29, "k": 2, "threads": 32}),
    more=_more,
    launch=_launch,
)
