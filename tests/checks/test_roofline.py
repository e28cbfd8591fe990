"""Checks of chapter `roofline`: right answers, every wrong model by name, numbers held to the profiler."""

from __future__ import annotations

import linecache
from collections.abc import Callable

import nbformat
import numpy as np
import pytest

from autograder.settings import ROOT
from course import cuda, profile
from course.cards import CARDS, card
from course.checks import check, find, grade, names
from course.checks.function import FunctionCheck
from course.checks.roofline.classify import CARD, KERNELS, OTHER
from course.checks.roofline.smallest_tile import smallest_tile
from course.models.roofline import machine, ridge, ridges
from tests.support.kernel_answers import load, reference
from tests.support.paper_answers import ANSWERS

ROOFLINE = [name for name in names() if name.startswith("roofline/")]
SEEDS = (None, 0, 1, "autumn", 10**30)


def test_the_bandwidth_of_the_data_sheet_is_welcome_in_question_3() -> None:
    from_the_card = 2.5 * card("a100-80gb").dram_gb_per_s / 1000
    answer = {**ANSWERS["roofline/q3"], "attainable_tflops": from_the_card, "share_of_peak": from_the_card / 19.5}
    assert check("roofline/q3", answer).right


def test_one_wrong_tile_costs_one_point_and_guessing_a_side_for_all_kernels_earns_nothing() -> None:
    assert grade("roofline/smallest_tile", {**ANSWERS["roofline/smallest_tile"], "a100": 32}) == 4
    for everything in (set(KERNELS), set()):
        assert grade("roofline/classify", {"memory_bound": everything, "changes": "sum"}) == 0
    one_off = {"sum", "activation", "matrix times vector"}
    assert grade("roofline/classify", {**ANSWERS["roofline/classify"], "memory_bound": one_off}) == 4


def test_the_kernels_stand_on_both_sides_and_one_lies_between_the_ridges() -> None:
    here, there = ridge(CARD), ridge(OTHER)
    assert (round(here, 1), round(there, 1)) == (20.0, 25.5)
    between = [name for name, kernel in KERNELS.items() if here <= kernel.intensity < there]
    assert between == ["polynomial"]
    assert sum(kernel.intensity < here for kernel in KERNELS.values()) == 4
    # With the ridge of lesson 000 (51 / 3.35) the tile of 64 would be compute-bound.
    assert 51 / 3.35 < KERNELS["tile 64"].intensity < here


def test_the_smallest_tile_is_at_the_ridge_or_right_of_it_and_half_of_it_is_not() -> None:
    for name, one in CARDS.items():
        if one.fp32_tflops is not None:
            tile = smallest_tile(name)
            assert tile / 8 < ridge(name) <= tile / 4
    assert smallest_tile("a100-80gb", "fp16", 2) / 2 >= ridge("a100-80gb", "fp16") > smallest_tile("a100-80gb") / 4


# The kernel of `count` is the one in the notebook, and the profiler counts what the answer says ----


def counted_kernel() -> cuda.Kernel:
    notebook = nbformat.read(ROOT / "source/roofline/roofline.ipynb", as_version=4)
    (text,) = (cell.source for cell in notebook.cells if cell.id == "stretch")
    space: dict[str, object] = {"cuda": cuda, "np": np}
    path = ROOT / "build" / "stretch.py"
    exec(compile(text, str(path), "exec"), space)
    linecache.cache[str(path)] = (len(text), None, text.splitlines(keepends=True), str(path))
    kernel = space["stretch"]
    assert isinstance(kernel, cuda.Kernel)
    return kernel


def test_the_profiler_counts_what_the_exercise_expects() -> None:
    n = 1 << 15
    x, y, out = np.ones(n + 1, np.float32), np.ones(n + 1, np.float32), np.zeros(n, np.float32)
    seen = profile(counted_kernel(), n // 256, 256, np.float32(2), x, y, out)
    expected = ANSWERS["roofline/count"]
    assert seen.findings == ()
    assert seen.flops.fp32 / n == seen.flops.total / n == expected["flop"]
    assert seen.requested_bytes / n == expected["requested_bytes"]
    assert seen.transferred_bytes / n == expected["transferred_bytes"]
    assert seen.dram.compulsory / n == pytest.approx(expected["dram_bytes"], rel=0.01)
    assert seen.arithmetic_intensity[1] == pytest.approx(expected["intensity"], rel=0.01)


# Functions ----------------------------------------------------------------------------------------

FUNCTIONS = ("roofline/attainable", "roofline/ridge")


def function_check(name: str) -> FunctionCheck:
    found = find(name)
    assert isinstance(found, FunctionCheck)
    return found


RIGHT: dict[str, list[Callable[..., object]]] = {
    "roofline/attainable": [
        lambda ai, bandwidth, peak: min(ai * bandwidth / 1000, peak),
        lambda ai, bandwidth, peak: min(ai * (bandwidth * 1e9), peak * 1e12) / 1e12,
        lambda ai, bandwidth, peak: np.minimum(ai * bandwidth / 1e3, peak),
        lambda ai, bandwidth, peak: peak if ai >= 1000 * peak / bandwidth else ai * bandwidth * 0.001,
    ],
    "roofline/ridge": [
        lambda bandwidth, peak: 1000 * peak / bandwidth,
        lambda bandwidth, peak: peak / (bandwidth / 1000),
        lambda bandwidth, peak: np.float64(peak * 1e12) / (bandwidth * 1e9),
    ],
}


@pytest.mark.parametrize(("name", "function"), [(name, f) for name in RIGHT for f in RIGHT[name]])
@pytest.mark.parametrize("seed", SEEDS)
def test_any_order_of_the_arithmetic_is_right(name: str, function: Callable[..., object], seed: int | str) -> None:
    result = check(name, function, seed)
    assert result.right, result
    assert result.feedback == ""


@pytest.mark.parametrize("name", FUNCTIONS)
def test_hidden_inputs_are_never_shown(name: str) -> None:
    result = check(name, lambda *_: 12345.678, "hidden")
    for message in (part.message for part in result.parts):
        assert "12345.678" in message
    shown = {str(case.arguments) for case in function_check(name).cases("hidden") if case.hidden}
    assert not any(arguments in str(result) for arguments in shown)


def test_rounding_to_two_digits_is_not_right() -> None:
    assert not check(
        "roofline/attainable", lambda ai, bandwidth, peak: round(min(ai * bandwidth / 1000, peak), 2), 1
    ).right


@pytest.mark.parametrize("seed", range(12))
def test_inputs_lie_on_the_side_that_their_group_says(seed: int) -> None:
    seen = dict.fromkeys(("left of the ridge", "right of the ridge"), 0)
    for case in function_check("roofline/attainable").cases(seed):
        ai, bandwidth, peak = case.arguments
        if case.group in seen:
            seen[case.group] += 1
            assert (ai < 1000 * peak / bandwidth) is (case.group == "left of the ridge")
    assert min(seen.values()) >= 7
    zero_or_ridge = [case for case in function_check("roofline/attainable").cases(seed) if "zero" in case.group]
    assert {case.arguments[0] in (0, 1000 * case.arguments[2] / case.arguments[1]) for case in zero_or_ridge} == {True}


def test_cards_of_the_ridge_exercise_are_cards_of_the_table() -> None:
    known = {(machine(n, u).gb_per_s, machine(n, u).peak_tflops) for n in CARDS for u in ridges(n)}
    drawn = [case.arguments for case in function_check("roofline/ridge").cases(4) if case.group == "cards"]
    assert len(drawn) >= 7 and set(drawn) <= known


# The kernel ---------------------------------------------------------------------------------------


def test_three_steps_in_one_with_other_names_are_right() -> None:
    text = """\
@cuda.jit
def fused(a, b, x, y, t, u, out):
    start = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    for i in range(start, out.size, cuda.gridsize(1)):
        v = x[i]
        v = a * v + y[i]
        v *= v
        out[i] = v / (v + b)
"""
    result = check("roofline/fuse", load("roofline/fuse", text), 2)
    assert result.right, result


def test_the_reference_moves_twelve_bytes_for_each_element() -> None:
    kernel = load("roofline/fuse", reference("roofline/fuse"))
    x, y, t, u, out = (np.ones(1024, np.float32) for _ in range(5))
    seen = profile(kernel, 4, 256, np.float32(2), np.float32(3), x, y, t, u, out)
    assert seen.dram.compulsory == seen.transferred_bytes == 12 * 1024
    assert seen.flops.fp32 == 5 * 1024
    assert out == pytest.approx(np.full(1024, 9 / 12))


@pytest.mark.parametrize("name", ROOFLINE)
@pytest.mark.parametrize("value", [None, ...])
def test_an_empty_answer_earns_nothing_and_is_not_answered(name: str, value: object) -> None:
    result = check(name, value)
    assert result.points == 0
    assert not result.answered
