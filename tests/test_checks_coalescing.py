"""Questions q1, q4, q7 and q8: right answers, every wrong model by name, and no number given away."""

from __future__ import annotations

import math
import re

import pytest

from course.checks import check, find, grade
from course.checks.parts import Choice, ChoiceSet, Misconception, Number, Part
from course.checks.question import Question

# The numbers of the syllabus, written here and nowhere in the package: the package computes them.
SYLLABUS = {
    "coalescing/q1": {
        "sectors": 32,
        "lines": 8,
        "requested_bytes": 128,
        "transferred_bytes": 1024,
        "efficiency": 0.125,
        "shape": "one lane per sector",
    },
    "coalescing/q4": {"misaligned_by": 4, "required_alignment": 16, "fixes": ["copy", "start", "prologue"]},
    "coalescing/q7": {"word_sectors": 4, "byte_sectors": 16, "layout": "planes"},
    "coalescing/q8": {"line_fraction": 0.25, "warp_stride": 4},
}
POINTS = {"coalescing/q1": 5, "coalescing/q4": 4, "coalescing/q7": 3, "coalescing/q8": 2}


def question(name: str) -> Question:
    found = find(name)
    assert isinstance(found, Question)
    return found


PARTS = [(name, part) for name in SYLLABUS for part in question(name).parts]
NUMBERS = [(name, part) for name, part in PARTS if isinstance(part, Number)]
WRONG_VALUES = [
    (name, part, wrong)
    for name, part in PARTS
    for wrong in part.misconceptions
    if not callable(wrong.wrong) and not isinstance(part, ChoiceSet)
]


def ids(value: object) -> str:
    return value if isinstance(value, str) else getattr(value, "name", "") or str(getattr(value, "wrong", ""))


@pytest.mark.parametrize("name", SYLLABUS)
def test_the_answer_of_the_syllabus_earns_every_point(name: str) -> None:
    result = check(name, SYLLABUS[name])
    assert result.right
    assert result.points == result.max_points == POINTS[name] == grade(name, SYLLABUS[name])
    assert list(SYLLABUS[name]) == list(question(name).keys)


@pytest.mark.parametrize(("name", "part"), PARTS, ids=ids)
def test_one_wrong_part_costs_exactly_its_points(name: str, part: Part) -> None:
    wrong: object = -999 if isinstance(part, Number) else "nothing of this"
    assert grade(name, {**SYLLABUS[name], part.name: wrong}) == POINTS[name] - part.points


@pytest.mark.parametrize(("name", "part", "wrong"), WRONG_VALUES, ids=ids)
def test_every_wrong_model_is_recognised_and_earns_nothing(name: str, part: Part, wrong: Misconception) -> None:
    result = check(name, {**SYLLABUS[name], part.name: wrong.wrong})
    judged = next(p for p in result.parts if p.name == part.name)
    assert judged.message == wrong.sentence
    assert judged.points == 0


@pytest.mark.parametrize(("name", "part"), NUMBERS, ids=ids)
def test_numeric_parts_have_three_wrong_models_apart_from_the_answer_and_each_other(name: str, part: Number) -> None:
    values = [wrong.wrong for wrong in part.misconceptions if isinstance(wrong.wrong, (int, float))]
    assert len(values) >= 3
    everything = [*values, part.expected, *([100 * part.expected] if part.fraction else [])]
    for index, one in enumerate(everything):
        for other in everything[index + 1 :]:
            assert not math.isclose(one, other, rel_tol=2 * part.tolerance)
    sentences = [wrong.sentence for wrong in part.misconceptions]
    assert len(set(sentences)) == len(sentences)


@pytest.mark.parametrize(("name", "part"), [(n, p) for n, p in PARTS if isinstance(p, Choice)], ids=ids)
def test_every_wrong_option_has_its_own_sentence(name: str, part: Choice) -> None:
    assert {wrong.wrong for wrong in part.misconceptions} == set(part.options) - {part.expected}
    assert len({wrong.sentence for wrong in part.misconceptions}) == len(part.options) - 1


def test_wrong_models_without_a_single_value_are_recognised() -> None:
    assert "whole sectors" in _message("coalescing/q1", "transferred_bytes", 1000)
    assert "upside down" in _message("coalescing/q1", "efficiency", 8)
    assert "between nothing and one" in _message("coalescing/q1", "efficiency", 3.7)
    assert "cast changes the type" in _message("coalescing/q4", "fixes", ["cast", "copy"])


@pytest.mark.parametrize(("name", "part"), PARTS, ids=ids)
def test_no_sentence_about_a_wrong_answer_carries_a_digit_or_the_right_option(name: str, part: Part) -> None:
    for sentence in (part.hint, *(wrong.sentence for wrong in part.misconceptions)):
        assert not re.search(r"\d", sentence)
        if isinstance(part, Choice):
            assert part.expected not in sentence


@pytest.mark.parametrize("name", SYLLABUS)
def test_feedback_on_wrong_answers_holds_no_expected_number(name: str) -> None:
    by_model = max(len(part.misconceptions) for part in question(name).parts)
    answers = [
        {part.name: part.misconceptions[n % len(part.misconceptions)].wrong for part in question(name).parts}
        for n in range(by_model)
    ]
    answers += [None, {}, 5, dict.fromkeys(SYLLABUS[name]), dict.fromkeys(SYLLABUS[name], "?"), {"key": 1}]  # type: ignore[list-item]
    for answer in answers:
        result = check(name, answer)
        assert result.points == 0
        told = "\n".join([result.feedback, *(part.message for part in result.parts)])
        assert not re.search(r"\d", told), told


def test_keys_and_statements_do_not_give_required_alignment_away_by_name() -> None:
    assert not any(re.search(r"\d", key) for name in SYLLABUS for key in question(name).keys)


def test_points_are_the_sum_of_the_parts() -> None:
    half_right = {**SYLLABUS["coalescing/q1"], "sectors": 8, "requested_bytes": 4, "shape": "all lanes in one sector"}
    assert grade("coalescing/q1", half_right) == 2.5
    assert grade("coalescing/q4", {**SYLLABUS["coalescing/q4"], "fixes": ["copy", "start"]}) == 3.0


def test_an_efficiency_in_percent_earns_the_points_and_a_remark() -> None:
    result = check("coalescing/q1", {**SYLLABUS["coalescing/q1"], "efficiency": 12.5})
    assert result.points == 5
    assert "as a fraction" in next(part.message for part in result.parts if part.name == "efficiency")


def _message(name: str, key: str, value: object) -> str:
    result = check(name, {**SYLLABUS[name], key: value})
    return next(part.message for part in result.parts if part.name == key)
