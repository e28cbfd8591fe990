"""Every exercise whose answer is a plain function: each wrong model is named, and none can be taken for another."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable

import pytest

from course.checks import check, find, names
from course.checks.function import Case, FunctionCheck, WrongModel

FUNCTIONS = [found for name in names() if isinstance(found := find(name), FunctionCheck)]
MODELS = [
    (exercise, wrong, variant)
    for exercise in FUNCTIONS
    for wrong in exercise.wrong_models
    for variant in wrong.variants
]
SEEDS = (None, "autumn")
"""The shown cases, and hidden ones; any other seed draws hidden cases the same way."""


def ids(value: object) -> str:
    return value.name if isinstance(value, FunctionCheck) else ""


def test_every_chapter_with_such_an_exercise_is_here() -> None:
    assert len(FUNCTIONS) >= 8
    assert all(len(exercise.wrong_models) >= 3 for exercise in FUNCTIONS)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("exercise", "wrong", "variant"), MODELS, ids=ids)
def test_every_wrong_model_is_named_and_loses_points(
    exercise: FunctionCheck, wrong: WrongModel, variant: Callable[..., float], seed: int | str | None
) -> None:
    result = check(exercise.name, variant, seed)
    assert result.feedback == wrong.sentence
    assert result.points < result.max_points


def assert_models_differ(exercise: FunctionCheck, cases: Iterable[Case]) -> None:
    """No variant of one model gives the numbers of another model, or the right ones."""
    arguments = [case.arguments for case in cases]
    rows = {
        wrong.sentence: {tuple(round(f(*a), 9) for a in arguments) for f in wrong.variants}
        for wrong in exercise.wrong_models
    }
    assert len(rows) == len(exercise.wrong_models)
    rows["right"] = {tuple(round(exercise.reference(*a), 9) for a in arguments)}
    for one, other in itertools.combinations(rows.values(), 2):
        assert not one & other


@pytest.mark.parametrize("exercise", FUNCTIONS, ids=ids)
def test_wrong_models_differ_from_each_other_and_from_the_right_one(exercise: FunctionCheck) -> None:
    for seed in (None, *range(10)):
        assert_models_differ(exercise, exercise.cases(seed))
