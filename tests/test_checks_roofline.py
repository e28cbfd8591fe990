"""Checks of chapter `roofline`: right answers, every wrong model by name, numbers held to the profiler."""

from __future__ import annotations

import linecache
import math
import re
from collections.abc import Callable

import nbformat
import numpy as np
import pytest
from kernel_answers import load, reference

from autograder.settings import ROOT
from course import cuda, profile
from course.cards import CARDS, card
from course.checks import check, find, grade
from course.checks.function import FunctionCheck, WrongModel
from course.checks.parts import Choice, ChoiceSet, Misconception, Number, Part
from course.checks.question import Question
from course.checks.roofline.classify import CARD, KERNELS, OTHER
from course.checks.roofline.smallest_tile import smallest_tile
from course.models.roofline import machine, ridge, ridges

# The numbers of the syllabus and of the exercises, written here and nowhere in the package: the package computes them.
ANSWERS = {
    "roofline/q3": {"intensity": 2.5, "attainable_tflops": 5.0, "share_of_peak": 0.256, "verdict": "memory-bound"},
    "roofline/classify": {
        "memory_bound": {"sum", "activation", "matrix times vector", "tile 64"},
        "changes": "polynomial",
    },
    "roofline/count": {
        "flop": 6, "requested_bytes": 20, "transferred_bytes": 22, "dram_bytes": 12, "intensity": 0.5,
    },
    "roofline/smallest_tile": {
        "a100": 64, "h100_sxm": 128, "rtx_4090": 512, "a100_fp16": 512, "results_per_thread": 16,
    },
    "roofline/p1": {"tflops": 1.875, "share": 0.368, "speed_up": 2.72},
    "roofline/p2": {"one": 1.0, "share": 0.00339, "batch": 296},
    "roofline/p3": {"filter": 3.57, "product": 1.84},
    "roofline/p4": {"half_the_flop": 1, "half_the_bytes": 0.5},
    "roofline/p5": {"intensity": 0.25, "attainable_tflops": 8.36, "four_by_four": 1.0},
}  # fmt: skip
POINTS = {
    "roofline/attainable": 4, "roofline/ridge": 2, "roofline/classify": 5, "roofline/count": 5,
    "roofline/smallest_tile": 5, "roofline/fuse": 4, "roofline/q3": 4,
}  # fmt: skip
SEEDS = (None, 0, 1, "autumn", 10**30)


def question(name: str) -> Question:
    found = find(name)
    assert isinstance(found, Question)
    return found


PARTS = [(name, part) for name in ANSWERS for part in question(name).parts]
NUMBERS = [(name, part) for name, part in PARTS if isinstance(part, Number)]
WRONG_VALUES = [
    (name, part, wrong)
    for name, part in PARTS
    for wrong in part.misconceptions
    if not callable(wrong.wrong) and not isinstance(part, ChoiceSet)
]


def ids(value: object) -> str:
    return value if isinstance(value, str) else getattr(value, "name", "") or str(getattr(value, "wrong", ""))


# Questions ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ANSWERS)
def test_the_right_answer_earns_every_point(name: str) -> None:
    result = check(name, ANSWERS[name])
    assert result.right, result
    assert grade(name, ANSWERS[name]) == result.max_points
    assert list(ANSWERS[name]) == list(question(name).keys)


def test_every_check_is_worth_what_its_cell_says() -> None:
    assert {name: find(name).max_points for name in POINTS} == POINTS


@pytest.mark.parametrize(("name", "part", "wrong"), WRONG_VALUES, ids=ids)
def test_every_wrong_model_is_recognised_and_earns_nothing(name: str, part: Part, wrong: Misconception) -> None:
    result = check(name, {**ANSWERS[name], part.name: wrong.wrong})
    judged = next(p for p in result.parts if p.name == part.name)
    assert judged.message == wrong.sentence
    assert judged.points == 0


@pytest.mark.parametrize(("name", "part"), NUMBERS, ids=ids)
def test_numbers_have_three_wrong_models_apart_from_the_answer_and_each_other(name: str, part: Number) -> None:
    values = [wrong.wrong for wrong in part.misconceptions if isinstance(wrong.wrong, (int, float))]
    assert len(values) + sum(callable(wrong.wrong) for wrong in part.misconceptions) >= 3
    everything = [*values, part.expected, *([100 * part.expected] if part.fraction else [])]
    for index, one in enumerate(everything):
        for other in everything[index + 1 :]:
            assert not math.isclose(one, other, rel_tol=2 * part.tolerance)
    sentences = [wrong.sentence for wrong in part.misconceptions]
    assert len(set(sentences)) == len(sentences)


@pytest.mark.parametrize(("name", "part"), [(n, p) for n, p in PARTS if isinstance(p, Choice)], ids=ids)
def test_every_wrong_option_has_a_sentence(name: str, part: Choice) -> None:
    assert {wrong.wrong for wrong in part.misconceptions} == set(part.options) - {part.expected}


@pytest.mark.parametrize(("name", "part"), PARTS, ids=ids)
def test_no_sentence_about_a_wrong_answer_carries_a_digit_or_the_right_option(name: str, part: Part) -> None:
    for sentence in (part.hint, *(wrong.sentence for wrong in part.misconceptions)):
        if not name.startswith("roofline/p"):
            assert not re.search(r"\d", re.sub(r"\b(FP32|FP16|L1)\b", "", sentence))
        if isinstance(part, Choice):
            assert part.expected not in sentence


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


@pytest.mark.parametrize("name", [name for name in ANSWERS if name.startswith("roofline/p")])
def test_worked_answers_of_practice_hold_the_expected_numbers(name: str) -> None:
    text = question(name).worked
    bold = [float(number) for number in re.findall(r"\*\*([\d.]+)(?: TFLOP/s)?\*\*", text)]
    for part in question(name).parts:
        assert isinstance(part, Number)
        assert any(math.isclose(part.expected, number, rel_tol=0.01) for number in bold), (part.name, bold)


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
MODELS = [
    (name, wrong, variant)
    for name in FUNCTIONS
    for wrong in find(name).wrong_models  # type: ignore[attr-defined]
    for variant in wrong.variants
]


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


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("name", "wrong", "variant"), MODELS)
def test_every_wrong_function_is_named_and_loses_points(
    name: str, wrong: WrongModel, variant: Callable[..., float], seed: int | str | None
) -> None:
    result = check(name, variant, seed)
    assert result.feedback == wrong.sentence
    assert result.points < result.max_points


@pytest.mark.parametrize("name", FUNCTIONS)
def test_no_two_wrong_models_are_the_same_on_the_visible_cases(name: str) -> None:
    cases = [case.arguments for case in function_check(name).cases() if not case.hidden]
    rows = {
        tuple(round(variant(*case), 9) for case in cases): wrong.sentence for n, wrong, variant in MODELS if n == name
    }
    right = tuple(round(function_check(name).reference(*case), 9) for case in cases)
    assert right not in rows
    assert len(rows) == sum(n == name for n, _, _ in MODELS)


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


@pytest.mark.parametrize("name", POINTS)
@pytest.mark.parametrize("value", [None, ...])
def test_an_empty_answer_earns_nothing_and_is_not_answered(name: str, value: object) -> None:
    result = check(name, value)
    assert result.points == 0
    assert not result.answered
