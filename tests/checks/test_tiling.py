"""Checks of chapter `tiling`: right answers, every wrong model by name, other good kernels, nothing given away."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from course.checks import check, find, grade
from course.checks.kernel import KernelCheck
from course.checks.tiling import barrier, column_sums, conflict_degree, matmul, transpose
from course.models import tiling
from tests.support.kernel_answers import load, reference, starter
from tests.support.paper_answers import ANSWERS

SEEDS = (None, 0, 1, 2, "autumn", 10**30)
EXERCISE = conflict_degree.EXERCISE
KERNELS: list[KernelCheck] = [transpose.EXERCISE, matmul.EXERCISE, column_sums.EXERCISE, barrier.EXERCISE]


@pytest.mark.parametrize("reason", ["broadcast", "far away"])
def test_a_wrong_reason_is_named_and_costs_a_third(reason: str) -> None:
    result = check("tiling/p7", {"reasons": [*ANSWERS["tiling/p7"]["reasons"], reason]})
    assert result.points == 2
    assert next(w.sentence for w in find("tiling/p7").parts[0].misconceptions if w.wrong == reason) in str(result)


# Exercise (a): conflict_degree ------------------------------------------------------------------------


def by_brute_force(words: list[int]) -> int:
    """Deliver one word from each bank in each pass, until every lane has its word."""
    waiting, passes = set(words), 0
    while waiting:
        delivered: dict[int, int] = {}
        for word in sorted(waiting):
            delivered.setdefault(word % 32, word)
        waiting -= set(delivered.values())
        passes += 1
    return passes


@pytest.mark.parametrize("seed", SEEDS)
def test_a_right_function_earns_every_point(seed: int | str | None) -> None:
    result = check("tiling/conflict_degree", by_brute_force, seed)
    assert result.right
    assert result.points == 6
    assert result.feedback == ""


@pytest.mark.parametrize("seed", range(10))
def test_every_case_is_a_request_of_at_most_one_warp(seed: int) -> None:
    for case in EXERCISE.cases(seed):
        (words,) = case.arguments
        assert type(words) is list and len(words) <= 32
        assert all(type(word) is int and word >= 0 for word in words)


@pytest.mark.parametrize("constant", [0, 1, 32])
def test_a_constant_earns_nothing_or_the_rows_alone(constant: int) -> None:
    assert grade("tiling/conflict_degree", lambda words: constant, 3) == (1 if constant == 1 else 0)


def test_hidden_cases_are_not_shown() -> None:
    result = check("tiling/conflict_degree", lambda words: words["nothing"], 4)
    assert result.points == 0
    for part in result.parts:
        assert part.message.count("conflict_degree(") == 1  # the visible case that failed first


# Kernel exercises -------------------------------------------------------------------------------------


@pytest.mark.parametrize("exercise", KERNELS, ids=lambda e: e.name)
@pytest.mark.parametrize("seed", [None, 5])
def test_the_reference_costs_exactly_the_budget(exercise: KernelCheck, seed: int | None) -> None:
    """A budget below is out of reach, one above lets waste pass."""
    kernel = load(exercise.name, reference(exercise.name))
    for case in exercise.cases(seed):
        budgets = exercise.launch_of(case).budgets
        found = exercise.attempted(kernel, case, math.inf)
        assert found.right and found.profile is not None
        for budget in exercise.budgets:
            for number, most in budgets[budget.name].items():
                if number == "extra_wavefronts":
                    assert most == 0 == found.profile.shared_wavefronts - found.profile.ideal_shared_wavefronts
                else:
                    assert found.profile.total(budget.space, number, *budget.kinds) == most


@pytest.mark.parametrize("exercise", KERNELS, ids=lambda e: e.name)
def test_hidden_shapes_have_edges_and_change_with_the_seed(exercise: KernelCheck) -> None:
    side = {"tiling/matmul": 16, "tiling/barrier": 64}.get(exercise.name, 32)
    for seed in range(20):
        hidden = [case.sizes for case in exercise.cases(seed) if case.hidden]
        assert len(hidden) >= 5
        for name in hidden[0]:
            assert sum(sizes[name] % side != 0 for sizes in hidden) >= len(hidden) - 2
            assert any(sizes[name] < side for sizes in hidden)
            assert any(sizes[name] > side for sizes in hidden)
    assert exercise.cases(1) != exercise.cases(2)
    assert exercise.cases(1) == exercise.cases(1)


@pytest.mark.parametrize("exercise", KERNELS, ids=lambda e: e.name)
def test_the_right_result_alone_earns_nothing(exercise: KernelCheck) -> None:
    result = exercise.run(load(exercise.name, starter(exercise.name)), 8)
    assert result.points == 0
    assert next(part for part in result.parts if part.name == "results").message.startswith("Right so far")


def test_the_starter_of_the_barriers_has_both_faults_and_right_results() -> None:
    kernel = load("tiling/barrier", starter("tiling/barrier"))
    case = next(case for case in barrier.EXERCISE.cases() if case.sizes["rows"] == 150)
    found = barrier.EXERCISE.attempted(kernel, case, math.inf)
    assert found.right and found.profile is not None
    assert {f.kind for f in found.profile.findings} == {"shared-race", "divergent-barrier"}


@pytest.mark.parametrize(("rows", "columns"), [(16, 48), (20, 37), (1, 1), (33, 9)])
def test_the_budget_of_staging_is_what_a_loop_over_threads_finds(rows: int, columns: int) -> None:
    requests = sectors = 0
    for down, right, warp in itertools.product(range(0, rows, 16), range(0, columns, 16), range(8)):
        lanes = [(down + 2 * warp + lane // 16, right + lane % 16) for lane in range(32)]
        touched = {4 * (y * columns + x) // 32 for y, x in lanes if y < rows and x < columns}
        requests, sectors = requests + bool(touched), sectors + len(touched)
    assert matmul.staged(rows, columns) == {"instructions": requests, "sectors": sectors}


@pytest.mark.parametrize("size", [16, 64])
def test_the_budget_of_a_product_is_that_of_the_model(size: int) -> None:
    launch = matmul.EXERCISE.launch({"m": size, "k": size, "n": size}, np.random.default_rng(0))
    model = tiling.matmul(size, 16)
    assert launch.budgets["loads"] == {
        "instructions": model.global_load_requests, "sectors": model.global_load_sectors,
    }  # fmt: skip


@pytest.mark.parametrize(("rows", "columns"), [(40, 70), (70, 40), (5, 33), (1, 31), (64, 64)])
def test_a_padded_transpose_of_any_shape_has_no_conflict_in_the_model(rows: int, columns: int) -> None:
    assert tiling.transpose(rows, columns, pad=1).conflicts == 0
    assert tiling.transpose(rows, columns, tile=None).conflicts == 0
    assert tiling.transpose(rows, columns, pad=0).conflicts >= min(rows, columns) - 1


SWIZZLED = """\
@cuda.jit
def transpose(a, out):
    tile = cuda.shared.array((32, 32), np.float32)
    i, j = cuda.threadIdx.x, cuda.threadIdx.y
    x, y = 32 * cuda.blockIdx.x + i, 32 * cuda.blockIdx.y + i
    for k in range(j, 32, 8):
        row = 32 * cuda.blockIdx.y + k
        if row < a.shape[0] and x < a.shape[1]:
            tile[k, i ^ k] = a[row, x]
    cuda.syncthreads()
    for k in range(j, 32, 8):
        row = 32 * cuda.blockIdx.x + k
        if row < out.shape[0] and y < out.shape[1]:
            out[row, y] = tile[i, k ^ i]
"""
STORED_TURNED = """\
@cuda.jit
def transpose(a, out):
    rows, columns = a.shape
    tile = cuda.shared.array((32, 35), np.float32)
    i, j = cuda.threadIdx.x, cuda.threadIdx.y
    left, top = cuda.blockIdx.x * 32, cuda.blockIdx.y * 32
    for k in range(4):
        if left + i < columns and top + j + 8 * k < rows:
            tile[i, j + 8 * k] = a[top + j + 8 * k, left + i]
    cuda.syncthreads()
    for k in range(4):
        if top + i < rows and left + j + 8 * k < columns:
            out[left + j + 8 * k, top + i] = tile[j + 8 * k, i]
"""
FEWER_STEPS = """\
@cuda.jit
def matmul(a, b, c):
    left = cuda.shared.array((16, 16), np.float32)
    right = cuda.shared.array((16, 16), np.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    column, row = cuda.grid(2)
    total = np.float32(0)
    steps = (a.shape[1] + 15) // 16
    for step in range(steps):
        k = 16 * step
        if row < a.shape[0] and k + x < a.shape[1]:
            left[y, x] = a[row, k + x]
        if k + y < b.shape[0] and column < b.shape[1]:
            right[y, x] = b[k + y, column]
        cuda.syncthreads()
        if row < c.shape[0] and column < c.shape[1]:
            for j in range(min(16, a.shape[1] - k)):
                total += left[y, j] * right[j, x]
        cuda.syncthreads()
    if row < c.shape[0] and column < c.shape[1]:
        c[row, column] = total
"""
TURNED_SUMS = """\
@cuda.jit
def column_sums(x, out):
    partial = cuda.shared.array((32, 32), np.float32)
    i, y = cuda.threadIdx.x, cuda.threadIdx.y
    column = 32 * cuda.blockIdx.x + i
    total = np.float32(0)
    row = y
    while row < x.shape[0] and column < x.shape[1]:
        total += x[row, column]
        row += 32
    partial[y, i] = total
    cuda.syncthreads()
    step = 16
    while step > 0:
        if y < step:
            partial[y, i] += partial[y + step, i]
        cuda.syncthreads()
        step //= 2
    if y == 0 and column < out.size:
        out[column] = partial[0, i]
"""
ONE_BARRIER_LESS = """\
@cuda.jit
def weighted_sums(x, weights, out):
    pieces = cuda.shared.array((2, 64), np.float32)
    i, column = cuda.threadIdx.x, cuda.grid(1)
    total = np.float32(0)
    now = 0
    for first in range(0, weights.size, 64):
        if first + i < weights.size:
            pieces[now, i] = weights[first + i]
        cuda.syncthreads()  # two pieces in turn: whoever stores the next but one has passed this barrier again
        if column < out.size:
            for k in range(min(64, weights.size - first)):
                total += pieces[now, k] * x[first + k, column]
        now = 1 - now
    if column < out.size:
        out[column] = total
"""


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("tiling/transpose", SWIZZLED), ("tiling/transpose", STORED_TURNED), ("tiling/matmul", FEWER_STEPS),
        ("tiling/column_sums", TURNED_SUMS), ("tiling/barrier", ONE_BARRIER_LESS),
    ],
    ids=["swizzled", "stored turned", "no zeros", "turned, as a tree", "two pieces in turn"],
)  # fmt: skip
@pytest.mark.parametrize("seed", [None, 0, "autumn"])
def test_another_good_way_to_write_it_is_right(name: str, text: str, seed: int | str | None) -> None:
    result = find(name).run(load(name, text), seed)
    assert result.right, result


OTHER_SIDE = """\
@cuda.jit
def transpose(a, out):
    y = cuda.blockIdx.y * 32 + cuda.threadIdx.x
    for k in range(cuda.threadIdx.y, 32, 8):
        x = cuda.blockIdx.x * 32 + k
        if y < a.shape[0] and x < a.shape[1]:
            out[x, y] = a[y, x]
"""
ONE_WARP = """\
@cuda.jit
def column_sums(x, out):
    column = cuda.grid(2)[0]
    if cuda.threadIdx.y == 0 and column < out.size:
        total = np.float32(0)
        for row in range(x.shape[0]):
            total += x[row, column]
        out[column] = total
"""
STAGED_FOR_SHOW = """\
@cuda.jit
def matmul(a, b, c):
    t = cuda.shared.array((16, 16), np.float32)
    column, row = cuda.grid(2)
    total = np.float32(0)
    if row < c.shape[0] and column < c.shape[1]:
        for k in range(a.shape[1]):
            t[cuda.threadIdx.y, cuda.threadIdx.x] = a[row, k]
            total += t[cuda.threadIdx.y, cuda.threadIdx.x] * b[k, column]
        c[row, column] = total
"""


@pytest.mark.parametrize(
    ("name", "text", "part", "says", "points"),
    [
        ("tiling/transpose", OTHER_SIDE, "global accesses", "32 sectors per request", 0),
        ("tiling/column_sums", ONE_WARP, "shared accesses", "nothing goes through shared memory", 0),
        ("tiling/matmul", STAGED_FOR_SHOW, "loads", "enough", 3),
    ],
    ids=["strided on the other side", "without shared memory", "staged for show"],
)
def test_a_way_around_the_exercise_does_not_pay(name: str, text: str, part: str, says: str, points: int) -> None:
    result = find(name).run(load(name, text), 4)
    assert result.points == points < result.max_points
    assert says in next(p.message for p in result.parts if p.name == part)


@pytest.mark.parametrize("name", ["tiling/transpose", "tiling/matmul"])
def test_a_kernel_for_whole_tiles_only_loses_points(name: str) -> None:
    """The kernels that the notebook shows are no full answer."""
    from course.kernels.tiling import tiled_matmul, tiled_transpose

    kernel = tiled_transpose(32, 1, 8) if name == "tiling/transpose" else tiled_matmul(16, 0, np.float32)
    result = find(name).run(kernel, 1)
    assert result.points <= 4
    assert "out-of-bounds" in next(part.message for part in result.parts if part.name == "findings")
