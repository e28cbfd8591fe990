"""Exercise (d) of the chapter `layout`: where each key of a cache lies, for a kernel whose lanes are tokens.

The answer is a device function. A first kernel fills the cache with it, a second one reads the cache back, and the
loads of the second one are counted.
"""

from __future__ import annotations

import random
import re
import types
from dataclasses import replace

import numpy as np

from course import cuda
from course.checks.attempt import Attempt, Launch, Watched, attempt
from course.checks.kernel import Budget, KernelCase, KernelCheck, Sizes
from course.checks.result import PartResult
from course.models.coalescing import WARP_LANES, coalesce
from course.models.layout import KV_DIM_FIRST, Tensor

__all__ = ["EXERCISE", "PlaceCheck", "budget"]

_BLOCKS = (32, 64, 96, 128)


class PlaceCheck(KernelCheck):
    """Checks a device function that says where an element lies, through the two kernels that call it."""

    def attempted(self, value: object, case: KernelCase, deadline: float) -> Attempt:
        """Fill the cache, then read it. The arguments of the launch are (keys, arguments of the reading kernel)."""
        from course.kernels.layout import cache_fill, cache_scores

        function = getattr(value, "py_func", value)
        if not isinstance(function, types.FunctionType):
            return Attempt(problem="is no function that a kernel can call", hopeless=True)
        place = cuda.jit(device=True)(function)
        launch, exact = self.launch_of(case), not case.hidden
        keys, *arguments = launch.arguments
        filling = replace(launch, grid=-(-keys.size // 128), block=128, arguments=(keys, arguments[1]), watched=())
        filled = attempt(cache_fill(place), filling, deadline, exact_places=exact)
        if filled.profile is None:
            return filled
        read = attempt(cache_scores(place), replace(launch, arguments=tuple(arguments)), deadline, exact_places=exact)
        if read.profile is None:
            return read
        findings = (*filled.profile.findings, *read.profile.findings)
        return replace(read, profile=replace(read.profile, findings=findings))

    def _part(self, name: str, points: float, fault: str) -> PartResult:
        """Lines by their text: their numbers are those of kernels that the student has not written."""
        fault = re.sub(r"\bLine \d+, (`[^`]*`),", r"The line with \1", fault)
        fault = re.sub(r"\bline \d+, (?=`)", "the line with ", fault)
        fault = re.sub(r"\bline \d+: ", "the line that calls `place`: ", fault)
        if name == "results" and fault:
            fault += " Does `place` give every number an index of its own, inside the cache?"
        return super()._part(name, points, fault)


def budget(blocks: int, tokens: int, heads: int, dims: int) -> int:
    """Sectors of the reading kernel's loads when the tokens of a block are neighbours, for every head and dim."""
    cache = Tensor({"blocks": blocks, "heads": heads, "dim": dims, "tokens": tokens}, KV_DIM_FIRST)
    warps = -(-blocks * tokens // WARP_LANES)
    token = np.arange(warps * WARP_LANES).reshape(warps, 1, 1, WARP_LANES)
    exists = np.broadcast_to(token < blocks * tokens, (warps, heads, dims, WARP_LANES))
    block, inside = np.divmod(np.minimum(token, blocks * tokens - 1), tokens)
    head, dim = np.arange(heads).reshape(-1, 1, 1), np.arange(dims).reshape(-1, 1)
    at = np.broadcast_to(cache.addresses(blocks=block, heads=head, dim=dim, tokens=inside), exists.shape)
    cost = coalesce(at.reshape(-1, WARP_LANES), 4, exists.reshape(-1, WARP_LANES))
    return int(cost.sectors.sum()) + cost.requests  # and one sector for each load of the query, a broadcast


def _launch(sizes: Sizes, generator: np.random.Generator) -> Launch:
    blocks, tokens, heads, dims = (sizes[name] for name in ("blocks", "tokens", "heads", "dims"))
    keys = generator.uniform(1, 2, (blocks, tokens, heads, dims)).astype(np.float32)
    q = generator.uniform(1, 2, (heads, dims)).astype(np.float32)
    cache = np.full(keys.size, np.nan, np.float32)
    out = np.full((heads, blocks * tokens), np.nan, np.float32)
    expected = np.einsum("bthd,hd->hbt", keys.astype(np.float64), q.astype(np.float64)).reshape(out.shape)
    return Launch(
        grid=(-(-blocks * tokens // sizes["threads"]), heads),
        block=sizes["threads"],
        arguments=(keys, q, cache, out, tokens),
        watched=(Watched("out", out, expected),),
        budgets={"loads": {"sectors": budget(blocks, tokens, heads, dims)}},
    )


def _more(generator: random.Random) -> list[Sizes]:
    def shape(tokens: int) -> Sizes:
        blocks, heads, dims = generator.randint(2, 7), generator.randint(2, 4), generator.choice((8, 12, 20, 32))
        threads = generator.choice(_BLOCKS)
        return {"blocks": blocks, "tokens": tokens, "heads": heads, "dims": dims, "threads": threads}

    return [shape(tokens) for tokens in (8, 16, 24, 32, 64)]


EXERCISE = PlaceCheck(
    name="layout/kv",
    kernel="place",
    statement=(
        "`place(block, token, head, d, tokens, heads, dims)` is a device function. It returns the index at which "
        "number d of the key of a token lies in the cache, a float32 array of blocks * tokens * heads * dims "
        "elements. The kernel `scores` reads the cache with it: lane i takes token i of its head, and all lanes go "
        "through d = 0, 1, 2, ... together. Choose the layout for which its loads cost as few sectors as they can. "
        "Every number needs a place of its own inside the array. `tokens` is a multiple of 8."
    ),
    keys={
        "block": "number of the block of the cache",
        "token": "number of the token in its block",
        "head": "number of the head",
        "d": "number of the element of the key",
        "tokens": "tokens of a block",
        "heads": "heads of each token",
        "dims": "elements of each key",
    },
    result_points=1,
    finding_points=1,
    budgets=(
        Budget(
            "loads",
            4,
            "load",
            "In one request the lanes differ in the token, and agree in head and d. Which of them should count "
            "fastest?",
        ),
    ),
    visible=(
        {"blocks": 4, "tokens": 16, "heads": 2, "dims": 32, "threads": 64},
        {"blocks": 3, "tokens": 8, "heads": 3, "dims": 12, "threads": 32},
    ),
    more=_more,
    launch=_launch,
)
