"""Checks of chapter `cp_async`: right answers, every wrong model by name, other good kernels, nothing given away."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from course.cards import LIMITS
from course.checks import check, find, grade
from course.checks.cp_async import double_buffer, pipeline_time, stages, widths
from course.checks.cp_async.practice_times import PROGRAM, landed
from course.checks.function import FunctionCheck
from course.models.occupancy import occupancy
from tests.support.kernel_answers import load, reference, starter
from tests.support.paper_answers import ANSWERS

SEEDS = (None, 0, 1, 2, "autumn", 10**30)
FUNCTIONS: tuple[FunctionCheck, ...] = (pipeline_time.EXERCISE, stages.EXERCISE)
PULL = double_buffer.EXERCISE


@pytest.mark.parametrize("wrong", ["1", "2", "12", "32"])
def test_a_width_that_no_copy_has_is_named(wrong: str) -> None:
    result = check("cp_async/c", {**ANSWERS["cp_async/c"], "legal": [*ANSWERS["cp_async/c"]["legal"], wrong]})
    part = next(p for p in find("cp_async/c").parts if p.name == "legal")
    sentence = next(w.sentence for w in part.misconceptions if w.wrong == wrong)
    assert sentence in str(result)
    assert 3 < result.points < 4


def test_a_legal_copy_among_those_that_fail_is_named() -> None:
    every = ["one byte", "eight bytes", "twelve bytes", "sixteen bytes"]
    result = check("cp_async/c", {**ANSWERS["cp_async/c"], "fails": every})
    assert result.points == 3.5
    assert "the address is a multiple of it" in str(result)


@pytest.mark.parametrize("tile", widths.SITUATIONS.values(), ids=widths.SITUATIONS)
def test_the_widest_copy_is_the_widest_that_suits_the_addresses_of_every_row(tile: widths.Tile) -> None:
    legal = [0]
    for width in (4, 8, 16):
        row_bytes = tile.element_bytes * tile.tile_columns
        starts = [
            address
            for row in range(64)
            for column in range(0, 4 * tile.tile_columns, tile.tile_columns)
            for address in (
                tile.element_bytes * (row * tile.matrix_columns + column),
                tile.element_bytes * row * tile.tile_pitch,
            )
        ]
        if row_bytes % width == 0 and all(start % width == 0 for start in starts):
            legal.append(width)
    assert tile.widest == max(legal)


def test_groups_land_in_the_order_of_their_commits() -> None:
    assert [landed(PROGRAM, groups) for groups in range(4)] == [3, 1, 0, 0]
    assert landed(("copy", "copy"), 0) == 0
    assert landed(("copy", "commit", "commit"), 1) == 1  # an empty group counts as one


# Exercises (a) and (c) --------------------------------------------------------------------------------


def by_clock(tiles: int, load: int, compute: int, stages: int) -> int:
    """Step through the events: a load needs the memory and a free buffer, a computation needs its tile."""
    memory = threads = 0
    free = [0] * stages
    heapq.heapify(free)
    for _ in range(tiles):
        memory = max(memory, heapq.heappop(free)) + load
        threads = max(threads, memory) + compute
        heapq.heappush(free, threads)
    return threads


def by_trying(tile_bytes: int, blocks: int, sm: dict[str, int]) -> int:
    """Add buffers until the blocks no longer fit."""
    count = 0
    while True:
        units = -(-(count + 1) * tile_bytes // sm["unit_bytes"])
        if blocks * (units * sm["unit_bytes"] + sm["reserved_bytes"]) > sm["sm_bytes"]:
            return count
        count += 1


RIGHT: dict[str, Callable[..., Any]] = {"cp_async/pipeline_time": by_clock, "cp_async/stages": by_trying}


@pytest.mark.parametrize("name", RIGHT)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_right_function_earns_every_point(name: str, seed: int | str | None) -> None:
    result = check(name, RIGHT[name], seed)
    assert result.right
    assert result.points == 6
    assert result.feedback == ""


@pytest.mark.parametrize("name", RIGHT)
@pytest.mark.parametrize("constant", [0, 1, 22])
def test_a_constant_earns_at_most_the_cases_without_room(name: str, constant: int) -> None:
    assert grade(name, lambda *_: constant, 3) == (name == "cp_async/stages" and constant == 0)


@pytest.mark.parametrize("name", RIGHT)
def test_hidden_cases_are_not_shown(name: str) -> None:
    result = check(name, lambda *arguments: arguments["nothing"], 4)  # type: ignore[call-overload]
    assert result.points == 0
    for part in result.parts:
        assert part.message.count(f"{find(name).function}(") == 1  # type: ignore[attr-defined]


@pytest.mark.parametrize("capability", ["7.5", "8.0", "8.6", "9.0"])
@pytest.mark.parametrize("blocks", [1, 2, 3, 5])
def test_so_many_stages_fit_by_nvidias_rule_and_no_more(capability: str, blocks: int) -> None:
    for tile_bytes in (3000, 4096, 8192, 20000):
        count = by_trying(tile_bytes, blocks, stages.budget(LIMITS[capability]))
        fit = [int(occupancy(LIMITS[capability], 64, 32, n * tile_bytes).blocks_per_sm) for n in (count, count + 1)]
        assert fit[0] >= blocks > fit[1]


# Exercise (b): the double-buffered loop -----------------------------------------------------------------

THREE_STAGES = """\
@cuda.jit
def pull(x, points, out):
    tile = cuda.shared.array((3, 64, 2), np.float32)
    t, i, n = cuda.threadIdx.x, cuda.grid(1), points.shape[0]
    mine, total = x[i], np.float32(0)
    for k in range(2):
        if 64 * k + t < n:
            cuda.cp_async(tile, (k, t, 0), points, (64 * k + t, 0), 8)
        cuda.cp_async_commit()
    for k in range((n + 63) // 64):
        cuda.cp_async_wait(1)
        cuda.syncthreads()
        if 64 * (k + 2) + t < n:
            cuda.cp_async(tile, ((k + 2) % 3, t, 0), points, (64 * (k + 2) + t, 0), 8)
        cuda.cp_async_commit()
        for j in range(min(64, n - 64 * k)):
            total += tile[k % 3, j, 1] * abs(mine - tile[k % 3, j, 0])
    out[i] = total
"""
TWO_BARRIERS = """\
@cuda.jit
def pull(x, points, out):
    tile = cuda.shared.array((2, 64, 2), np.float32)
    t, i, n = cuda.threadIdx.x, cuda.grid(1), points.shape[0]
    mine, total = x[i], np.float32(0)
    tiles = (n + 63) // 64
    for k in range(tiles + 1):
        if k < tiles and 64 * k + t < n:
            cuda.cp_async(tile, (k % 2, t, 0), points, (64 * k + t, 0), 8)
        cuda.cp_async_commit()
        if k > 0:
            cuda.cp_async_wait(1)
            cuda.syncthreads()
            for j in range(min(64, n - 64 * (k - 1))):
                total += tile[(k - 1) % 2, j, 1] * abs(mine - tile[(k - 1) % 2, j, 0])
            cuda.syncthreads()
    out[i] = total
"""
IN_REGISTERS = """\
@cuda.jit
def pull(x, points, out):
    tile = cuda.shared.array((2, 64, 2), np.float32)
    t, i, n = cuda.threadIdx.x, cuda.grid(1), points.shape[0]
    mine, total = x[i], np.float32(0)
    place, weight = np.float32(0), np.float32(0)
    if t < n:
        place, weight = points[t, 0], points[t, 1]
    for k in range((n + 63) // 64):
        tile[k % 2, t, 0], tile[k % 2, t, 1] = place, weight
        cuda.syncthreads()
        if 64 * (k + 1) + t < n:
            place, weight = points[64 * (k + 1) + t, 0], points[64 * (k + 1) + t, 1]
        for j in range(min(64, n - 64 * k)):
            total += tile[k % 2, j, 1] * abs(mine - tile[k % 2, j, 0])
    out[i] = total
"""
NO_TILE = """\
@cuda.jit
def pull(x, points, out):
    i = cuda.grid(1)
    total = np.float32(0)
    for j in range(points.shape[0]):
        total += points[j, 1] * abs(x[i] - points[j, 0])
    out[i] = total
"""


@pytest.mark.parametrize("text", [THREE_STAGES, TWO_BARRIERS], ids=["three stages", "two barriers"])
@pytest.mark.parametrize("seed", [None, 1, "autumn"])
def test_other_ways_to_overlap_earn_every_point(text: str, seed: int | str | None) -> None:
    result = PULL.run(load(PULL.name, text), seed)
    assert result.points == 8, str(result)


def earned(text: str, seed: int = 3) -> dict[str, float]:
    return {part.name: part.points for part in PULL.run(load(PULL.name, text), seed).parts}


def test_the_next_tile_in_registers_is_right_and_not_what_was_asked_for() -> None:
    assert earned(IN_REGISTERS) == {"results": 0, "findings": 0, "loads": 0, "overlap": 0, "waits": 0}
    result = PULL.run(load(PULL.name, IN_REGISTERS))
    assert "pass through registers" in str(result) and "there is no wait" in str(result)


def test_a_width_that_no_copy_has_is_told_with_its_line() -> None:
    text = reference(PULL.name).replace("(64 * (k + 1) + t, 0), 8)", "(64 * (k + 1) + t, 0), 12)")
    result = PULL.run(load(PULL.name, text))
    assert result.points == 0
    assert "line 12" in result.feedback and "copies 4, 8 or 16 bytes, not 12" in result.feedback


@pytest.mark.parametrize("text", [NO_TILE, IN_REGISTERS], ids=["no tile", "registers"])
def test_a_kernel_without_copies_earns_nothing_under_any_name(text: str) -> None:
    assert sum(earned(text).values()) == 0
    assert sum(earned(text.replace("points", "p")).values()) == 0


def test_copies_that_are_waited_for_at_once_do_not_overlap() -> None:
    text = starter(PULL.name).replace(
        "tile[t, 0], tile[t, 1] = points[64 * k + t, 0], points[64 * k + t, 1]",
        "cuda.cp_async(tile, (t, 0), points, (64 * k + t, 0), 8)",
    )
    text = text.replace(
        "        cuda.syncthreads()\n        for",
        "        cuda.cp_async_commit()\n        cuda.cp_async_wait(0)\n        cuda.syncthreads()\n        for",
    )
    assert earned(text) == {"results": 2, "findings": 2, "loads": 1, "overlap": 0, "waits": 1}
    told = next(part.message for part in PULL.run(load(PULL.name, text)).parts if part.name == "overlap")
    assert "16 of 16 copies, where 4 are enough, land before the block has computed" in told
    hidden = next(part.message for part in PULL.run(load(PULL.name, text), 4).parts if part.name == "overlap")
    assert hidden == told  # a visible shape is told first


def test_the_right_result_alone_earns_nothing() -> None:
    result = PULL.run(load(PULL.name, starter(PULL.name)), 8)
    assert result.points == 0
    assert next(part for part in result.parts if part.name == "results").message.startswith("Right so far")


@pytest.mark.parametrize("seed", [None, 5])
def test_the_reference_costs_exactly_the_budget(seed: int | None) -> None:
    kernel = load(PULL.name, reference(PULL.name))
    for case in PULL.cases(seed):
        budgets = PULL.launch_of(case).budgets
        found = PULL.attempted(kernel, case, math.inf)
        assert found.right and found.profile is not None
        for number, most in budgets["loads"].items():
            assert found.profile.total("global", number, "load") == most
        copies = found.profile.copies
        assert copies.landed - copies.overlapped == budgets["overlap"]["alone"]
        assert copies.waits == budgets["waits"]["most"]


def test_hidden_shapes_have_edges_and_change_with_the_seed() -> None:
    for seed in range(20):
        hidden = [case.sizes["n"] for case in PULL.cases(seed) if case.hidden]
        assert len(hidden) == 5
        assert all(n % 64 for n in hidden) and any(n % 64 == 1 for n in hidden) and any(n % 64 == 63 for n in hidden)
        assert any(n < 64 for n in hidden) and sum(n > 64 for n in hidden) == 4
    assert PULL.cases(1) != PULL.cases(2)
    assert PULL.cases(1) == PULL.cases(1)


@pytest.mark.parametrize("points", [1, 40, 64, 150])
def test_the_expected_sums_are_those_of_a_plain_loop(points: int) -> None:
    launch = PULL.launch({"n": points, "blocks": 1}, np.random.default_rng(0))
    x, table, _ = launch.arguments
    sums = [sum(float(w) * abs(float(a) - float(p)) for p, w in table) for a in x]
    np.testing.assert_allclose(launch.watched[0].expected, sums, rtol=1e-9)
