"""The exercise `sectors`: right functions, wrong models by name, broken functions explained."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from course.checks import check, find, grade
from course.checks.coalescing.sectors import EXERCISE
from course.checks.function import FunctionCheck
from course.checks.outcome import Outcome
from course.models.coalescing import coalesce
from tests.checks.test_function import assert_models_differ

NAME = "coalescing/sectors"
SEEDS = (None, 0, 1, 2, "autumn", 10**30)


def perfect(addresses: list[int], size: int) -> int:
    return len({byte // 32 for first in addresses for byte in range(first, first + size)})


def counts_lines(addresses: list[int], size: int) -> int:
    return len({address // 128 for address in addresses})


@pytest.mark.parametrize("seed", SEEDS)
def test_a_right_function_earns_every_point(seed: int | str | None) -> None:
    result = check(NAME, perfect, seed)
    assert result.right
    assert result.feedback == ""
    assert grade(NAME, perfect, seed) == 6.0 == result.max_points


@pytest.mark.parametrize(
    "function",
    [
        lambda addresses, size: np.unique(np.array(addresses, int) // 32).size,
        lambda addresses, size: np.int32(perfect(addresses, size)),
        lambda addresses, size: float(perfect(addresses, size)),
        lambda addresses, size: np.array(perfect(addresses, size)),
        lambda addresses, size: addresses.sort() or sum(1 for _ in itertools.groupby(a // 32 for a in addresses)),
    ],
    ids=["numpy", "numpy scalar", "float", "0-d array", "sorts its argument"],
)
def test_any_way_to_write_it_is_right(function: Callable[..., Any]) -> None:
    assert check(NAME, function, 5).points == 6


def test_the_reference_agrees_with_the_model_on_every_case() -> None:
    for case in EXERCISE.cases(11):
        addresses, size = case.arguments
        if addresses:
            assert EXERCISE.reference(addresses, size) == int(coalesce(addresses, size).sectors[0])
        else:
            assert EXERCISE.reference(addresses, size) == 0


def test_wrong_models_differ_on_the_visible_cases_already() -> None:
    assert_models_differ(EXERCISE, (case for case in EXERCISE.cases(0) if not case.hidden))


@pytest.mark.parametrize("constant", [0, 1, 4, 8, 16, 32])
def test_a_constant_earns_nothing(constant: int) -> None:
    assert grade(NAME, lambda addresses, size: constant, 3) == 0.0


def test_each_group_is_worth_its_own_points() -> None:
    def forgets_the_empty_list(addresses: list[int], size: int) -> int:
        return max(1, perfect(addresses, size))

    result = check(NAME, forgets_the_empty_list, 3)
    assert result.points == 5
    assert [part.name for part in result.parts if not part.right] == ["few lanes"]
    assert "sectors([], 4) returned 1, which is not right." in result.parts[4].message


def test_cases_depend_on_the_seed_and_repeat_with_it() -> None:
    assert EXERCISE.cases(1) == EXERCISE.cases(1)
    assert EXERCISE.cases(1) != EXERCISE.cases(2)
    assert EXERCISE.cases() == EXERCISE.cases()
    assert len({repr(EXERCISE.cases(seed)) for seed in range(20)}) == 20


def test_every_case_is_a_legal_request() -> None:
    for seed in range(20):
        for case in EXERCISE.cases(seed):
            addresses, size = case.arguments
            assert size in (1, 2, 4, 8, 16)
            assert len(addresses) <= 32
            assert all(type(address) is int and address >= 0 and address % size == 0 for address in addresses)


def test_hidden_inputs_are_never_shown_and_practice_inputs_are() -> None:
    hidden = {tuple(case.arguments[0]) for case in EXERCISE.cases(77) if case.hidden}
    visible = {tuple(case.arguments[0]) for case in EXERCISE.cases(77) if not case.hidden}

    def wrong_on_hidden_ones(addresses: list[int], size: int) -> int:
        return perfect(addresses, size) + (tuple(addresses) not in visible)

    assert not hidden & visible
    told = str(check(NAME, wrong_on_hidden_ones, 77))
    assert told.count("On a hidden input, sectors returned") == 6
    assert "sectors([" not in told
    assert "sectors([" in str(check(NAME, lambda addresses, size: perfect(addresses, size) + 1, 77))
    assert check(NAME, wrong_on_hidden_ones).right, "without a seed there are no hidden inputs"


def test_feedback_never_says_what_the_right_count_is() -> None:
    result = check(NAME, lambda addresses, size: 10**6 + 1)
    for part in result.parts:
        outside_the_call = re.sub(r"sectors\(.*?\) returned 1000001", "", part.message)
        assert not re.search(r"\d", outside_the_call)


def test_the_starter_is_not_written_yet() -> None:
    def sectors(addresses: list[int], size: int) -> int:
        raise NotImplementedError

    result = check(NAME, sectors, 1)
    assert result.points == 0
    assert result.feedback.startswith("Not written yet")


@pytest.mark.parametrize("value", [None, ...])
def test_a_placeholder_is_not_answered_yet(value: object) -> None:
    assert check(NAME, value).feedback == "Not answered yet."


@pytest.mark.parametrize("value", [4, perfect([0], 4), "sectors", {"sectors": 4}])
def test_a_value_instead_of_the_function_says_to_leave_the_parentheses_out(value: object) -> None:
    result = check(NAME, value)
    assert result.points == 0
    assert "without parentheses" in result.feedback


@pytest.mark.parametrize(
    ("returned", "words"),
    [
        (None, "returned None: end the function with return"),
        ("4", "returned text, expected a number"),
        (True, "returned True or False, expected a number"),
        ([4], "returned a list, expected a number"),
        ({4}, "returned a set, expected a number"),
        (float("nan"), "gave no number: the number is not finite"),
        (np.array([1, 2]), "gave no number: a NumPy array"),
        (4j, "gave no number: a value of type complex"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_wrong_return_type_is_explained(returned: object, words: str) -> None:
    result = check(NAME, lambda addresses, size: returned)
    assert result.points == 0
    assert all(words in part.message for part in result.parts)


def test_an_exception_is_told_with_type_message_and_the_input_that_caused_it() -> None:
    result = check(NAME, lambda addresses, size: perfect(addresses, size) + 0 * max(addresses))
    assert result.points == 5
    message = result.parts[4].message
    assert message.startswith("sectors([], 4) stopped with ValueError: max()")
    assert "Traceback" not in message


def test_a_wrong_model_is_named_although_some_calls_fail() -> None:
    result = check(NAME, lambda addresses, size: counts_lines(addresses, size) + 0 * max(addresses))
    assert "counts lines" in result.feedback


def test_two_numbers_are_too_few_to_name_a_model() -> None:
    def only_for_the_first_cases(addresses: list[int], size: int) -> int:
        if addresses in ([], [64]):
            return len(addresses) * 2
        raise LookupError

    assert check(NAME, only_for_the_first_cases).feedback == ""


def test_the_wrong_number_of_parameters_is_told() -> None:
    assert "stopped with TypeError" in check(NAME, lambda addresses: 4).parts[0].message


def test_outcomes_made_elsewhere_are_judged_the_same() -> None:
    exercise = find(NAME)
    assert isinstance(exercise, FunctionCheck)
    cases = exercise.cases(9)
    outcomes = [Outcome(value=counts_lines(*case.arguments)) for case in cases]
    assert exercise.judge(cases, outcomes) == check(NAME, counts_lines, 9)
