"""Questions q1, q4, q7 and q8: right answers, every wrong model by name, and no number given away."""

from __future__ import annotations

import re

import pytest

from course.checks import check, find, grade
from tests.support.paper_answers import ANSWERS

GRADED = [name for name in ANSWERS if name.startswith("coalescing/q")]


def test_wrong_models_without_a_single_value_are_recognised() -> None:
    assert "whole sectors" in _message("coalescing/q1", "transferred_bytes", 1000)
    assert "upside down" in _message("coalescing/q1", "efficiency", 8)
    assert "between nothing and one" in _message("coalescing/q1", "efficiency", 3.7)
    assert "cast changes the type" in _message("coalescing/q4", "fixes", ["cast", "copy"])


@pytest.mark.parametrize("name", GRADED)
def test_feedback_on_wrong_answers_holds_no_expected_number(name: str) -> None:
    by_model = max(len(part.misconceptions) for part in find(name).parts)
    answers = [
        {part.name: part.misconceptions[n % len(part.misconceptions)].wrong for part in find(name).parts}
        for n in range(by_model)
    ]
    answers += [None, {}, 5, dict.fromkeys(ANSWERS[name]), dict.fromkeys(ANSWERS[name], "?"), {"key": 1}]  # type: ignore[list-item]
    for answer in answers:
        result = check(name, answer)
        assert result.points == 0
        told = "\n".join([result.feedback, *(part.message for part in result.parts)])
        assert not re.search(r"\d", told), told


def test_keys_and_statements_do_not_give_required_alignment_away_by_name() -> None:
    assert not any(re.search(r"\d", key) for name in GRADED for key in find(name).keys)


def test_points_are_the_sum_of_the_parts() -> None:
    half_right = {**ANSWERS["coalescing/q1"], "sectors": 8, "requested_bytes": 4, "shape": "all lanes in one sector"}
    assert grade("coalescing/q1", half_right) == 2.5
    assert grade("coalescing/q4", {**ANSWERS["coalescing/q4"], "fixes": ["copy", "start"]}) == 3.0


def test_an_efficiency_in_percent_earns_the_points_and_a_remark() -> None:
    result = check("coalescing/q1", {**ANSWERS["coalescing/q1"], "efficiency": 12.5})
    assert result.points == 5
    assert "as a fraction" in next(part.message for part in result.parts if part.name == "efficiency")


def _message(name: str, key: str, value: object) -> str:
    result = check(name, {**ANSWERS[name], key: value})
    return next(part.message for part in result.parts if part.name == key)
