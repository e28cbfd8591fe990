"""Every question of the course: right answers, every wrong model by name, worked answers, and no number given away."""

from __future__ import annotations

import itertools
import math
import re

import pytest

from course.checks import check, find, grade, names
from course.checks.parts import Choice, ChoiceSet, Number, Part
from course.checks.question import Question
from course.checks.result import PartResult
from tests.support.paper_answers import ANSWERS, POINTS


def question(name: str) -> Question:
    found = find(name)
    assert isinstance(found, Question)
    return found


PRACTICE = [name for name in ANSWERS if question(name).worked]
each_question = pytest.mark.parametrize("name", ANSWERS)
"""One test a question: its parts and wrong models are thousands."""


def numbers(name: str) -> list[Number]:
    return [part for part in question(name).parts if isinstance(part, Number)]


def judged(name: str, part: Part, given: object) -> PartResult:
    """What is said of one part, with every other part right."""
    return next(p for p in check(name, {**ANSWERS[name], part.name: given}).parts if p.name == part.name)


def test_every_question_of_the_course_is_answered_on_paper() -> None:
    assert {name for name in names() if isinstance(find(name), Question)} == set(ANSWERS)
    assert POINTS.keys() <= ANSWERS.keys()


@each_question
def test_the_answer_worked_out_on_paper_earns_every_point(name: str) -> None:
    result = check(name, ANSWERS[name])
    assert result.right, result
    assert result.points == result.max_points == POINTS.get(name, len(ANSWERS[name])) == grade(name, ANSWERS[name])
    assert list(ANSWERS[name]) == list(question(name).keys)


@each_question
def test_one_wrong_part_costs_exactly_its_points(name: str) -> None:
    for part in question(name).parts:
        wrong: object = -999 if isinstance(part, Number) else "nothing of this"
        given = {**ANSWERS[name], part.name: wrong}
        assert grade(name, given) == question(name).max_points - part.points, part.name


@each_question
def test_every_wrong_model_is_recognised_and_earns_nothing(name: str) -> None:
    for part in question(name).parts:
        for wrong in part.misconceptions:
            if callable(wrong.wrong):
                continue
            if isinstance(part, ChoiceSet):  # a wrong option among the right ones
                found = judged(name, part, [*part.expected, wrong.wrong])
                assert wrong.sentence in found.message, (part.name, wrong.wrong)
                assert found.points < part.points, (part.name, wrong.wrong)
            else:
                found = judged(name, part, wrong.wrong)
                assert (found.message, found.points) == (wrong.sentence, 0), (part.name, wrong.wrong)


@pytest.mark.parametrize("name", [name for name in ANSWERS if numbers(name)])
def test_a_number_has_three_wrong_models_apart_from_the_answer_and_each_other(name: str) -> None:
    for part in numbers(name):
        values = [wrong.wrong for wrong in part.misconceptions if isinstance(wrong.wrong, (int, float))]
        assert len(part.misconceptions) >= 3, part.name
        everything = [*values, part.expected, *([100 * part.expected] if part.fraction else [])]
        for one, other in itertools.combinations(everything, 2):
            assert not math.isclose(one, other, rel_tol=2 * part.tolerance), (part.name, one, other)


@each_question
def test_every_wrong_model_has_a_sentence_of_its_own(name: str) -> None:
    for part in question(name).parts:
        if not isinstance(part, ChoiceSet):
            assert len({wrong.sentence for wrong in part.misconceptions}) == len(part.misconceptions), part.name
        if isinstance(part, Choice):
            assert {wrong.wrong for wrong in part.misconceptions} == set(part.options) - {part.expected}, part.name


@each_question
def test_no_sentence_about_a_wrong_answer_gives_the_right_one_away(name: str) -> None:
    for part in question(name).parts:
        for sentence in (part.hint, *(wrong.sentence for wrong in part.misconceptions)):
            if not question(name).worked:
                assert not re.search(r"\d", re.sub(r"\b(L1|L2|FP16|FP32)\b", "", sentence)), part.name
            if isinstance(part, Number):
                assert not re.search(rf"\b{part.expected:g}\b", sentence), part.name


@pytest.mark.parametrize("name", PRACTICE)
def test_a_worked_answer_shows_the_value_of_every_part(name: str) -> None:
    bold = re.findall(r"\*\*([^*]+)\*\*", question(name).worked)
    numbers = [float(number) for text in bold for number in re.findall(r"\d+(?:\.\d+)?", text.replace(",", ""))]
    for part in question(name).parts:
        if isinstance(part, Number):
            shown = [part.expected, 100 * part.expected] if part.fraction else [part.expected]
            assert any(math.isclose(one, other, rel_tol=0.01) for one in numbers for other in shown), part.name
        else:
            assert isinstance(part, (Choice, ChoiceSet))
            options = {part.expected} if isinstance(part, Choice) else part.expected
            assert all(option.lower() in question(name).worked.lower() for option in options), part.name
