"""Every question of the course: right answers, every wrong model by name, worked answers, and no number given away."""

from __future__ import annotations

import itertools
import math
import re

import pytest

from course.checks import check, find, grade, names
from course.checks.parts import Choice, ChoiceSet, Misconception, Number, Part
from course.checks.question import Question
from tests.support.paper_answers import ANSWERS, POINTS


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
WRONG_OPTIONS = [
    (name, part, wrong) for name, part in PARTS if isinstance(part, ChoiceSet) for wrong in part.misconceptions
]
PRACTICE = [name for name in ANSWERS if question(name).worked]


def ids(value: object) -> str:
    return value if isinstance(value, str) else getattr(value, "name", "") or str(getattr(value, "wrong", ""))


def test_every_question_of_the_course_is_answered_on_paper() -> None:
    assert {name for name in names() if isinstance(find(name), Question)} == set(ANSWERS)
    assert POINTS.keys() <= ANSWERS.keys()


@pytest.mark.parametrize("name", ANSWERS)
def test_the_answer_worked_out_on_paper_earns_every_point(name: str) -> None:
    result = check(name, ANSWERS[name])
    assert result.right, result
    assert result.points == result.max_points == POINTS.get(name, len(ANSWERS[name])) == grade(name, ANSWERS[name])
    assert list(ANSWERS[name]) == list(question(name).keys)


@pytest.mark.parametrize(("name", "part"), PARTS, ids=ids)
def test_one_wrong_part_costs_exactly_its_points(name: str, part: Part) -> None:
    wrong: object = -999 if isinstance(part, Number) else "nothing of this"
    assert grade(name, {**ANSWERS[name], part.name: wrong}) == question(name).max_points - part.points


@pytest.mark.parametrize(("name", "part", "wrong"), WRONG_VALUES, ids=ids)
def test_every_wrong_model_is_recognised_and_earns_nothing(name: str, part: Part, wrong: Misconception) -> None:
    judged = next(p for p in check(name, {**ANSWERS[name], part.name: wrong.wrong}).parts if p.name == part.name)
    assert (judged.message, judged.points) == (wrong.sentence, 0)


@pytest.mark.parametrize(("name", "part", "wrong"), WRONG_OPTIONS, ids=ids)
def test_a_wrong_option_among_the_right_ones_is_named_and_costs(
    name: str, part: ChoiceSet, wrong: Misconception
) -> None:
    given = {**ANSWERS[name], part.name: [*part.expected, wrong.wrong]}
    judged = next(p for p in check(name, given).parts if p.name == part.name)
    assert wrong.sentence in judged.message
    assert judged.points < part.points


@pytest.mark.parametrize(("name", "part"), NUMBERS, ids=ids)
def test_a_number_has_three_wrong_models_apart_from_the_answer_and_each_other(name: str, part: Number) -> None:
    values = [wrong.wrong for wrong in part.misconceptions if isinstance(wrong.wrong, (int, float))]
    assert len(part.misconceptions) >= 3
    everything = [*values, part.expected, *([100 * part.expected] if part.fraction else [])]
    for one, other in itertools.combinations(everything, 2):
        assert not math.isclose(one, other, rel_tol=2 * part.tolerance)


@pytest.mark.parametrize(("name", "part"), PARTS, ids=ids)
def test_every_wrong_model_has_a_sentence_of_its_own(name: str, part: Part) -> None:
    if not isinstance(part, ChoiceSet):
        assert len({wrong.sentence for wrong in part.misconceptions}) == len(part.misconceptions)
    if isinstance(part, Choice):
        assert {wrong.wrong for wrong in part.misconceptions} == set(part.options) - {part.expected}


@pytest.mark.parametrize(("name", "part"), PARTS, ids=ids)
def test_no_sentence_about_a_wrong_answer_gives_the_right_one_away(name: str, part: Part) -> None:
    for sentence in (part.hint, *(wrong.sentence for wrong in part.misconceptions)):
        if not question(name).worked:
            assert not re.search(r"\d", re.sub(r"\b(L1|L2|FP16|FP32)\b", "", sentence))
        if isinstance(part, Number):
            assert not re.search(rf"\b{part.expected:g}\b", sentence)


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
