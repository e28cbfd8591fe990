"""Every row of a question whose numbers vary is a fair question of its own."""

from __future__ import annotations

import itertools
import math
import re

import pytest

from autograder.variants import check_for, varying
from course import check
from course.checks import UnknownCheckError, find, grade, names
from course.checks.parts import Choice, ChoiceSet, Number
from course.checks.registry import CHAPTERS, variant_count
from tests.support.paper_answers import ANSWERS
from tests.support.variant_answers import PAPER, ROWS, TABLES, question, right


def test_every_chapter_has_a_question_whose_numbers_vary() -> None:
    assert set(PAPER) == set(TABLES)
    assert all(varying(chapter) for chapter in CHAPTERS)
    assert varying("start") == {}
    assert min(len(table) for table in TABLES.values()) >= 4


@pytest.mark.parametrize(("name", "row"), ROWS)
def test_the_right_answer_of_a_row_earns_every_point(name: str, row: int) -> None:
    result = check(name, right(name, row), variant=row)
    assert result.right, result
    assert result.points == result.max_points == find(name).max_points == grade(name, right(name, row), variant=row)


@pytest.mark.parametrize("name", TABLES)
def test_row_0_is_the_published_question(name: str) -> None:
    assert find(name, 0) is find(name) is check_for(name)
    assert check(name, ANSWERS[name]).right and check(name, right(name, 0)).right
    assert list(right(name, 0)) == list(ANSWERS[name])


@pytest.mark.parametrize("name", TABLES)
def test_the_right_answer_of_one_row_is_wrong_in_every_other(name: str) -> None:
    for one, other in itertools.permutations(range(len(TABLES[name])), 2):
        assert not check(name, right(name, one), variant=other).right, (one, other)


@pytest.mark.parametrize(("name", "row"), ROWS)
def test_every_wrong_model_of_a_row_is_named_and_apart_from_the_answer(name: str, row: int) -> None:
    published = question(name, 0)
    for part, before in zip(question(name, row).parts, published.parts, strict=True):
        assert part.points == before.points and type(part) is type(before)
        if isinstance(part, Number):
            everything = [m.wrong for m in part.misconceptions if isinstance(m.wrong, (int, float))]
            everything += [part.expected] + ([100 * part.expected] if part.fraction else [])
            assert len(part.misconceptions) >= 3
            for one, other in itertools.combinations(everything, 2):
                assert not math.isclose(one, other, rel_tol=2 * part.tolerance), (part.name, one, other)
        if isinstance(part, Choice):
            assert {wrong.wrong for wrong in part.misconceptions} == set(part.options) - {part.expected}
        if not isinstance(part, ChoiceSet):
            for wrong in part.misconceptions:
                value = wrong.wrong
                if not callable(value):
                    given = {**right(name, row), part.name: value}
                    judged = next(p for p in check(name, given, variant=row).parts if p.name == part.name)
                    assert (judged.message, judged.points) == (wrong.sentence, 0)
                elif isinstance(part, Number):
                    assert not value(part.expected)
            assert len({wrong.sentence for wrong in part.misconceptions}) == len(part.misconceptions)


@pytest.mark.parametrize("name", [name for name in TABLES if name != "occupancy/largest_tile"])
def test_a_row_has_as_many_wrong_models_as_the_published_question(name: str) -> None:
    counts = {tuple(len(p.misconceptions) for p in question(name, row).parts) for row in range(len(TABLES[name]))}
    assert len(counts) == 1


@pytest.mark.parametrize(("name", "row"), ROWS)
def test_no_sentence_about_a_wrong_answer_gives_the_right_one_away(name: str, row: int) -> None:
    for part in question(name, row).parts:
        for sentence in (part.hint, *(wrong.sentence for wrong in part.misconceptions)):
            assert not re.search(r"\d", re.sub(r"\b(L1|L2|FP16|FP32)\b", "", sentence)), sentence


@pytest.mark.parametrize("name", TABLES)
def test_every_row_asks_in_other_words_or_numbers(name: str) -> None:
    tasks = [question(name, row).markdown for row in range(len(TABLES[name]))]
    assert len(set(tasks)) == len(tasks)
    for row, task in enumerate(tasks):
        assert all(f"`{key}`: " in task for key in right(name, row))


def test_a_row_that_is_not_there_is_refused_in_words() -> None:
    with pytest.raises(UnknownCheckError, match=r"coalescing/q1 has variants 0 to 7, not 8: copy the line"):
        check("coalescing/q1", {}, variant=8)
    with pytest.raises(UnknownCheckError, match="coalescing/sectors has no variants, not 1"):
        grade("coalescing/sectors", len, variant=1)
    for odd in (-1, True, "1", None):
        with pytest.raises(UnknownCheckError, match="has variants 0 to 3"):
            find("coalescing/q8", odd)  # type: ignore[arg-type]
    with pytest.raises(UnknownCheckError, match="did you mean"):
        check_for("coalescing/q9", 1)


def test_checks_that_do_not_vary_have_one_row() -> None:
    assert {name for name in names() if variant_count(name) > 1} == set(TABLES)
