"""Exercises whose answer is a kernel: starter, reference, typical mistakes by name, and kernels that mean harm."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

from course import backend, cuda
from course.checks import find, grade
from course.checks.coalescing import gather, scale, wide_copy
from course.checks.ideal import neighbours
from course.checks.kernel import KernelCheck
from course.checks.result import PartResult, Result
from tests.support.clocks import work_of_at_most
from tests.support.kernel_answers import WRONG, load, reference, starter, wrong

SEEDS = (None, 10**30)
"""The shown shapes, and hidden ones; `test_a_seed_is_any_whole_number_or_text` has the other kinds of seed."""
KERNELS = tuple(name for name in WRONG if isinstance(find(name), KernelCheck))
MISTAKES = [(name, mistake) for name, mistakes in WRONG.items() for mistake in mistakes]


def run(name: str, text: str, seed: int | str | None = 3) -> Result:
    return find(name).run(load(name, text), seed)


@cache
def judged(name: str, mistake: str) -> Result:
    """The result of a typical mistake on shown and hidden shapes; three tests look at each."""
    return run(name, wrong(name, mistake))


def part(result: Result, name: str) -> PartResult:
    return next(part for part in result.parts if part.name == name)


@pytest.fixture(autouse=True)
def no_gpu_may_be_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    def choose() -> None:
        raise AssertionError("a check looked for a GPU")

    monkeypatch.setattr(backend, "choose", choose)


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("seed", SEEDS)
def test_the_reference_earns_every_point_on_any_seed(name: str, seed: int | str | None) -> None:
    result = run(name, reference(name), seed)
    assert result.right, result
    assert result.points == result.max_points


@pytest.mark.parametrize("seed", [0, "autumn"])
def test_a_seed_is_any_whole_number_or_text(seed: int | str) -> None:
    for name in ("coalescing/scale", "coalescing/gather"):
        assert run(name, reference(name), seed).right


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("seed", SEEDS)
def test_the_starter_fails_where_the_exercise_says_so_and_earns_nothing(name: str, seed: int | str | None) -> None:
    check = find(name)
    assert isinstance(check, KernelCheck)
    result = run(name, starter(name), seed)
    assert result.points == 0
    held = {part.name for part in result.parts if part.message.startswith("Right so far")}
    assert held == set(check.given)
    for budget in check.budgets:
        assert (budget.name in held) or "enough" in part(result, budget.name).message or seed is not None


def test_the_gather_as_it_was_earns_nothing() -> None:
    result = run("coalescing/gather", starter("coalescing/gather"))
    assert result.points == 0
    assert "as much as before" in part(result, "sectors").message
    assert part(result, "same indices").message.startswith("Right")


@pytest.mark.parametrize(("name", "mistake"), MISTAKES)
def test_a_typical_mistake_loses_points_and_is_told_what_it_is(name: str, mistake: str) -> None:
    expected = WRONG[name][mistake]
    result = judged(name, mistake)
    failed = part(result, expected.part)
    assert result.points < result.max_points
    assert not failed.right
    assert expected.says in failed.message


@pytest.mark.parametrize("name", WRONG)
def test_every_exercise_has_at_least_four_typical_mistakes(name: str) -> None:
    assert len(WRONG[name]) >= 4


@pytest.mark.parametrize(("name", "mistake"), [m for m in MISTAKES if m[0] in KERNELS])
def test_feedback_on_a_kernel_names_a_line_or_says_that_it_was_not_counted(name: str, mistake: str) -> None:
    result = judged(name, mistake)
    told = [p.message for p in result.parts if not p.right]
    assert any("ine " in message for message in told)
    if name.startswith("coalescing/"):
        assert all(solution not in str(result) for solution in ("gridsize", "(4 -", "% 4"))


@pytest.mark.parametrize(("name", "mistake"), [m for m in MISTAKES if m[0] in KERNELS])
def test_feedback_on_a_hidden_shape_tells_no_number_of_it(name: str, mistake: str) -> None:
    result = judged(name, mistake)
    for message in (p.message for p in result.parts if p.message.startswith("On a hidden shape")):
        assert not any(word in message for word in (" = ", "shape (", "of 1", "index "))


def test_numba_and_plain_functions_are_kernels_too() -> None:
    from numba import cuda as numba_cuda

    kernel = load("coalescing/scale", reference("coalescing/scale"))
    assert grade("coalescing/scale", kernel.py_func, seed=1) == 6  # type: ignore[attr-defined]
    assert grade("coalescing/scale", numba_cuda.jit(kernel.py_func), seed=1) == 6  # type: ignore[attr-defined]


BLOCKWISE = """\
@cuda.jit
def scale(x, out, a, k):
    i = cuda.blockIdx.x * cuda.blockDim.x * k + cuda.threadIdx.x
    while i < min(out.size, (cuda.blockIdx.x + 1) * cuda.blockDim.x * k):
        out[i] = a * x[i]
        i += cuda.blockDim.x
"""
ENDS_BY_ONE_THREAD = """\
@cuda.jit
def wide_copy(x, out, start):
    i = cuda.grid(1)
    n = len(x)
    head = 0
    while (start + head) % 4 != 0 and head < n:
        head += 1
    last = n - (n - head) % 4
    if head + 4 * i < last:
        values = cuda.load4(x, head + 4 * i)
        cuda.store4(out, head + 4 * i, values)
    if i == 0:
        for j in range(head):
            out[j] = x[j]
        for j in range(last, n):
            out[j] = x[j]
"""


@pytest.mark.parametrize(
    ("name", "text"), [("coalescing/scale", BLOCKWISE), ("coalescing/wide_copy", ENDS_BY_ONE_THREAD)]
)
@pytest.mark.parametrize("seed", SEEDS)
def test_another_good_way_to_write_it_is_right(name: str, text: str, seed: int | str | None) -> None:
    result = run(name, text, seed)
    assert result.right, result


@pytest.mark.parametrize(
    "order",
    [
        lambda indices: sorted(indices.tolist(), reverse=True),
        lambda indices: indices[np.argsort(indices // 8, kind="stable")],
        lambda indices: tuple(np.sort(indices).astype(np.int32)),
    ],
    ids=["descending list", "by sector", "tuple of int32"],
)
@pytest.mark.parametrize("seed", SEEDS)
def test_any_order_that_brings_sectors_together_is_right(order: Callable[[Any], Any], seed: int | str | None) -> None:
    assert grade("coalescing/gather", order, seed=seed) == 4


def test_a_budget_is_what_the_shape_allows() -> None:
    assert neighbours(1001) == {"instructions": 32, "sectors": 126}
    assert neighbours(32, 16, base=16) == {"instructions": 1, "sectors": 17}
    assert neighbours(0) == {"instructions": 0, "sectors": 0}
    indices = np.arange(64).reshape(8, 8).T.ravel()
    assert (gather.sectors(indices), gather.budget(indices)) == (16, 9)


@pytest.mark.parametrize("exercise", [scale.EXERCISE, wide_copy.EXERCISE])
def test_hidden_shapes_are_no_multiple_of_the_block_and_change_with_the_seed(exercise: Any) -> None:
    for seed in range(20):
        hidden = [case for case in exercise.cases(seed) if case.hidden]
        assert len(hidden) >= 5
        assert sum(case.sizes["n"] % case.sizes["threads"] != 0 for case in hidden) >= len(hidden) - 1
    assert exercise.cases(1) != exercise.cases(2)
    assert exercise.cases(1) == exercise.cases(1)
    assert not any(case.hidden for case in exercise.cases())


BROKEN = {
    "does nothing": ("pass", "results", "No line of the kernel stores to `out`"),
    "writes its input": ("x[cuda.grid(1)] = 0.0", "results", "wrong"),
    "endless loop": ("while True:\n        pass", "results", "without an end"),
    "endless nest": (
        "for i in range(10**9):\n        for j in range(10**9):\n            pass", "results", "without an end",
    ),
    "many small loops": (
        "\n    ".join(f"for j{n} in range(15000):\n        out[0] = 1.0" for n in range(100)),
        "results", "too long|without an end",
    ),
}  # fmt: skip


BOMBS = (
    "out[0] = 9**9**9",
    "out[0] = 1 << 10**12",
    "n = 10**6\n    for i in range(n**n**n):\n        out[0] = 1.0",
    "scale(x, out, a, k)",
    "t = cuda.local.array(100000, np.float32)\n    for i in range(15000):\n        t[i] = 1.0\n    out[0] = t[5]",
    "t = cuda.shared.array(10**9, np.float32)\n    out[0] = t[5]",
    "out[0] = " + "+".join(["x[0]"] * 500),
)


@pytest.mark.parametrize("body", BOMBS, ids=[body[:24] for body in BOMBS])
def test_a_bomb_costs_its_own_points_only(
    body: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("course.checks.kernel.SECONDS", 2.0)
    with work_of_at_most(60):
        bomb = load("coalescing/scale", f"@cuda.jit\ndef scale(x, out, a, k):\n    {body}\n")
        assert grade("coalescing/scale", bomb) == 0
    assert capfd.readouterr().err == ""


def returns_a_subclass(indices: Any) -> object:
    class Sly(np.ndarray):
        def __eq__(self, other: object) -> Any:
            return True

    return indices.view(Sly)


def says_much_and_leaves(indices: Any) -> object:
    print("x" * 1_000_000, file=sys.stderr)
    raise SystemExit


def returns_objects(indices: Any) -> object:
    class Index:
        def __int__(self) -> int:
            raise SystemExit

        __index__ = __int__

    return [Index() for _ in indices]


@pytest.mark.parametrize(
    "function",
    [
        returns_a_subclass, says_much_and_leaves, returns_objects,
        lambda indices: (i for i in indices), lambda indices: [10**400], lambda indices: -indices, lambda indices: [],
        lambda indices: np.sort(indices).astype(float), lambda indices: indices[:, None], lambda: 1, lambda indices: 7,
    ],
)  # fmt: skip
def test_a_function_that_returns_something_else_earns_nothing(
    function: Callable[..., Any], capfd: pytest.CaptureFixture[str]
) -> None:
    assert grade("coalescing/gather", function, seed=1) == 0
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("why", BROKEN)
def test_a_kernel_that_cannot_be_right_earns_nothing_in_bounded_time(why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("course.checks.kernel.SECONDS", 2.0)
    body, name, says = BROKEN[why]
    with work_of_at_most(60):
        result = run("coalescing/scale", f"@cuda.jit\ndef scale(x, out, a, k):\n    {body}\n")
    assert result.points == 0
    assert re.search(says, part(result, name).message)


HOPELESS = {
    "too few arguments": ("def scale(x, out, a):\n    out[0] = a", "takes 3 argument"),
    "no typing": ("def scale(x, out, a, k):\n    out[0] = x + 'a'", "line 3"),
    "not supported": ("def scale(x, out, a, k):\n    print([i for i in range(3)])", "line 3"),
    "unknown name": ("def scale(x, out, a, k):\n    out[0] = nothing_here", "nothing_here"),
}


@pytest.mark.parametrize("why", HOPELESS)
def test_a_kernel_that_cannot_run_is_explained_once(why: str) -> None:
    text, says = HOPELESS[why]
    result = run("coalescing/scale", f"@cuda.jit\n{text}\n")
    assert result.points == 0
    assert says in result.feedback
    assert {p.message for p in result.parts} == {"Not run."}


@pytest.mark.parametrize("name", WRONG)
def test_a_value_that_is_no_function_earns_nothing(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    for value in (None, ..., 3, "scale", [], {}, np.zeros(3)):
        assert grade(name, value, seed=1) == 0, value
        assert capsys.readouterr().err == ""


@pytest.mark.parametrize("name", KERNELS)
def test_a_callable_that_is_no_kernel_earns_nothing(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    for value in (print, type, lambda *_: 1, cuda.jit(device=True)(lambda x: x), np.sort, SystemExit):
        assert grade(name, value, seed=1) == 0, value
        assert capsys.readouterr().err == ""


def test_the_deadline_stops_a_check(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("course.checks.kernel.SECONDS", -1.0)
    result = run("coalescing/scale", reference("coalescing/scale"))
    assert result.points == 0
    assert "took too long" in part(result, "results").message


def test_double_precision_can_be_told_without_costing_points() -> None:
    from dataclasses import replace

    kernel = load("coalescing/scale", wrong("coalescing/scale", "double precision"))
    result = replace(scale.EXERCISE, fp64_is_a_fault=False).run(kernel, 1)
    assert result.right
    assert "float64" in result.feedback
