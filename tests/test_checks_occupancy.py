"""Checks of chapter `occupancy`: right answers, every wrong model by name, and no number given away."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from kernel_answers import load, reference
from placed_blocks import placed

from course.cards import LIMITS, card, limits
from course.checks import check, find, grade, names
from course.checks.function import Case, WrongModel
from course.checks.occupancy import blocks_per_sm, in_flight, largest_tile, limiter
from course.checks.parts import Choice, ChoiceSet, Misconception, Number, Part
from course.checks.question import Question
from course.models.occupancy import in_flight as model_in_flight
from course.models.occupancy import occupancy

# The numbers of the syllabus, and of the others worked out on paper: written here and nowhere in the package.
ANSWERS: dict[str, dict[str, Any]] = {
    "occupancy/limiter": {
        "a": "registers", "b": "block slots", "c": "shared memory", "d": "warp slots", "e": "registers",
        "f": "shared memory",
    },
    "occupancy/largest_tile": {"t4": 90, "a100": 143, "rtx_4090": 111, "h200": 169},
    "occupancy/in_flight": {"needed_bytes": 1_000_000, "warps": 73, "share": 0.884736, "wide_warps": 19, "loads": 5},
    "occupancy/q6": {
        "blocks_before": 6, "blocks_after": 3, "occupancy_before": 0.75, "occupancy_after": 0.375, "half": 64,
        "explanations": ["more in flight", "fewer loads", "already hidden"],
    },
    "occupancy/p1": {"small_blocks": 8, "large_blocks": 1, "occupancy": 0.125},
    "occupancy/p2": {"blocks": 32, "occupancy": 0.5, "threads": 64},
    "occupancy/p3": {"asked_bytes": 2176, "taken_bytes": 3200, "blocks": 20},
    "occupancy/p4": {"five": 48, "eight": 32},
    "occupancy/p5": {"blocks": 2, "limiter": "registers", "registers": 80},
    "occupancy/p6": {"first": "fewer warps", "second": "spills", "third": "coalescing"},
}  # fmt: skip
POINTS = {"occupancy/limiter": 3, "occupancy/largest_tile": 4, "occupancy/in_flight": 5, "occupancy/q6": 4}
SEEDS = (None, 0, 1, 2, "autumn", 10**30)
EXERCISE = blocks_per_sm.EXERCISE
REFERENCE = load(EXERCISE.name, reference(EXERCISE.name))
MODELS = [(wrong, variant) for wrong in EXERCISE.wrong_models for variant in wrong.variants]


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


# Questions ------------------------------------------------------------------------------------------


def test_every_question_of_the_chapter_is_asked_here() -> None:
    mine = {name for name in names() if name.startswith("occupancy/") and isinstance(find(name), Question)}
    assert mine == set(ANSWERS)


@pytest.mark.parametrize("name", ANSWERS)
def test_the_answer_worked_out_on_paper_earns_every_point(name: str) -> None:
    result = check(name, ANSWERS[name])
    assert result.right
    assert result.points == result.max_points == POINTS.get(name, len(ANSWERS[name])) == grade(name, ANSWERS[name])
    assert list(ANSWERS[name]) == list(question(name).keys)


@pytest.mark.parametrize(("name", "part"), PARTS, ids=ids)
def test_one_wrong_part_costs_exactly_its_points(name: str, part: Part) -> None:
    wrong: object = -999 if isinstance(part, Number) else "nothing of this"
    assert grade(name, {**ANSWERS[name], part.name: wrong}) == question(name).max_points - part.points


@pytest.mark.parametrize(("name", "part", "wrong"), WRONG_VALUES, ids=ids)
def test_every_wrong_model_is_recognised_and_earns_nothing(name: str, part: Part, wrong: Misconception) -> None:
    result = check(name, {**ANSWERS[name], part.name: wrong.wrong})
    judged = next(p for p in result.parts if p.name == part.name)
    assert judged.message == wrong.sentence
    assert judged.points == 0


@pytest.mark.parametrize(("name", "part"), NUMBERS, ids=ids)
def test_numeric_parts_have_three_wrong_models_apart_from_the_answer_and_each_other(name: str, part: Number) -> None:
    values = [wrong.wrong for wrong in part.misconceptions if isinstance(wrong.wrong, (int, float))]
    assert len(values) >= 3
    everything = [*values, part.expected, *([100 * part.expected] if part.fraction else [])]
    for one, other in itertools.combinations(everything, 2):
        assert not math.isclose(one, other, rel_tol=2 * part.tolerance)
    assert len({wrong.sentence for wrong in part.misconceptions}) == len(part.misconceptions)


@pytest.mark.parametrize(("name", "part"), [(n, p) for n, p in PARTS if isinstance(p, Choice)], ids=ids)
def test_every_wrong_option_has_its_own_sentence(name: str, part: Choice) -> None:
    assert {wrong.wrong for wrong in part.misconceptions} == set(part.options) - {part.expected}
    assert len({wrong.sentence for wrong in part.misconceptions}) == len(part.options) - 1


@pytest.mark.parametrize(("name", "part"), PARTS, ids=ids)
def test_no_sentence_about_a_wrong_answer_carries_a_digit_or_the_right_option(name: str, part: Part) -> None:
    for sentence in (part.hint, *(wrong.sentence for wrong in part.misconceptions)):
        assert not re.search(r"\d", sentence)
        if isinstance(part, Choice) and name == "occupancy/limiter":
            assert part.expected not in sentence


@pytest.mark.parametrize("name", [name for name in ANSWERS if name.startswith("occupancy/p")])
def test_a_worked_answer_shows_every_part(name: str) -> None:
    for part in question(name).parts:
        assert isinstance(part, (Number, Choice))
        assert f"**{part.expected}**" in question(name).worked or f"**{part.expected:g}**" in question(name).worked


@pytest.mark.parametrize(("value", "points"), [(0.5, 3.5), (0.375, 4.0), (37.5, 4.0)])
def test_half_of_the_slots_needs_fewer_registers_than_question_6_has(value: float, points: float) -> None:
    assert grade("occupancy/q6", {**ANSWERS["occupancy/q6"], "occupancy_after": value}) == points


@pytest.mark.parametrize("name", POINTS)
@pytest.mark.parametrize("answer", [None, {}, "dict"], ids=str)
def test_an_answer_without_answers_earns_nothing(name: str, answer: object) -> None:
    given = dict.fromkeys(ANSWERS[name]) if answer == "dict" else answer
    result = check(name, given)
    assert result.points == 0
    assert {part.message.split(":")[0] for part in result.parts} <= {"Not answered yet.", "Missing"}


def test_guessing_one_option_for_all_launches_earns_a_third_at_most() -> None:
    for option in limiter.OPTIONS.values():
        assert grade("occupancy/limiter", dict.fromkeys("abcdef", option)) <= 1


# Limits and tiles, placed block by block -------------------------------------------------------------


def resident(on: str, threads: int, registers: int, shared: int) -> dict[str, int]:
    """Blocks by each limit, from blocks that are placed one by one."""
    capability = card(on).compute_capability
    assert capability is not None
    by = placed(capability, threads, registers, shared)
    return {name: blocks for name, blocks in by.items() if blocks is not None}


@pytest.mark.parametrize("name", limiter.LAUNCHES)
def test_a_launch_of_the_question_has_one_limiter(name: str) -> None:
    launch = limiter.LAUNCHES[name]
    by = resident(launch.on, launch.threads, launch.registers, launch.shared_bytes)
    (only,) = [limit for limit, blocks in by.items() if blocks == min(by.values())]
    assert {"warps": "warp slots", "blocks": "block slots", "shared": "shared memory"}.get(only, only) == launch.limiter


@pytest.mark.parametrize("name", largest_tile.CARDS)
def test_two_of_the_largest_tiles_fit_and_two_of_the_next_ones_do_not(name: str) -> None:
    on, side = largest_tile.CARDS[name], ANSWERS["occupancy/largest_tile"][name]
    assert min(resident(on, 256, 32, 4 * side * (side + 1)).values()) == 2
    assert min(resident(on, 256, 32, 4 * (side + 1) * (side + 2)).values()) < 2


@pytest.mark.parametrize("name", ["a100", "rtx_4090", "h200"])
def test_a_tile_that_forgets_the_reserved_part_is_too_large_and_told_so(name: str) -> None:
    sm = limits(largest_tile.CARDS[name])
    side = max(t for t in range(1, 300) if 4 * t * (t + 1) <= sm.shared_bytes_per_sm // 2)
    result = check("occupancy/largest_tile", {**ANSWERS["occupancy/largest_tile"], name: side})
    assert "reserved part" in next(part.message for part in result.parts if part.name == name)


def test_the_bytes_on_their_way_are_littles_law() -> None:
    on, answer = in_flight.ON, ANSWERS["occupancy/in_flight"]
    per_sm = answer["needed_bytes"] / on.multiprocessors
    assert on.multiprocessors == 108 and per_sm / 128 > 64  # more warps than there are slots
    assert 128 * (answer["warps"] - 1) < per_sm <= 128 * answer["warps"]
    assert 512 * (answer["wide_warps"] - 1) < per_sm <= 512 * answer["wide_warps"]
    assert 16 * 128 * (answer["loads"] - 1) < per_sm <= 16 * 128 * answer["loads"]
    found = model_in_flight(on, 64, 4, 500)
    assert float(found.offered_bytes) / answer["needed_bytes"] == pytest.approx(answer["share"])


# Exercise (a): blocks_per_sm ------------------------------------------------------------------------


def one_by_one(threads: int, registers: int, shared: int, sm: dict[str, int]) -> int:
    """Place blocks on an empty SM, warp by warp, until something is used up."""
    if threads > sm["threads_per_block"]:
        return 0
    warps = math.ceil(threads / 32)
    units = math.ceil(registers * 32 / sm["register_unit"])
    taken = math.ceil((shared + sm["shared_reserved"]) / sm["shared_unit"]) * sm["shared_unit"]
    free = [sm["registers"] // sm["partitions"]] * sm["partitions"]
    blocks = 0
    while blocks < sm["block_slots"] and (blocks + 1) * warps <= sm["warp_slots"]:
        for _ in range(warps):
            place = max(range(len(free)), key=free.__getitem__)
            free[place] -= units * sm["register_unit"]
        if min(free) < 0 or (blocks + 1) * taken > sm["shared_bytes"]:
            break
        blocks += 1
    return blocks


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    "function", [one_by_one, load("occupancy/blocks_per_sm", reference("occupancy/blocks_per_sm"))]
)
def test_a_right_function_earns_every_point(function: Callable[..., int], seed: int | str | None) -> None:
    result = check("occupancy/blocks_per_sm", function, seed)
    assert result.right, str(result)
    assert result.points == 7
    assert result.feedback == ""


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("wrong", "variant"), MODELS)
def test_every_wrong_model_of_blocks_per_sm_is_named(
    wrong: WrongModel, variant: Callable[..., float], seed: int | str | None
) -> None:
    result = check("occupancy/blocks_per_sm", variant, seed)
    assert result.feedback == wrong.sentence
    assert result.points <= 6


def assert_models_differ(cases: Iterable[Case]) -> None:
    arguments = [case.arguments for case in cases]
    rows = {
        wrong.sentence: {tuple(f(*a) for a in arguments) for f in wrong.variants} for wrong in EXERCISE.wrong_models
    }
    rows["right"] = {tuple(EXERCISE.reference(*a) for a in arguments)}
    for one, other in itertools.combinations(rows.values(), 2):
        assert not one & other


@pytest.mark.parametrize("seed", [None, *range(30)])
def test_wrong_models_differ_from_each_other_and_from_the_right_one(seed: int | None) -> None:
    assert_models_differ(EXERCISE.cases(seed))


def test_wrong_models_differ_on_the_visible_cases_already() -> None:
    assert_models_differ(case for case in EXERCISE.cases(0) if not case.hidden)


@pytest.mark.parametrize("seed", range(10))
def test_hidden_cases_are_of_real_cards_and_of_sms_that_do_not_exist(seed: int) -> None:
    hidden = [case for case in EXERCISE.cases(seed) if case.hidden]
    real = [blocks_per_sm.described(capability) for capability in LIMITS]
    share = sum(case.arguments[3] in real for case in hidden) / len(hidden)
    assert 0.2 < share < 0.9
    assert len({tuple(case.arguments[3].values()) for case in hidden}) > 10
    assert EXERCISE.cases(seed) != EXERCISE.cases(seed + 1)


def test_an_sm_of_the_exercise_is_the_one_of_the_card() -> None:
    for capability in LIMITS:
        sm = blocks_per_sm.described(capability)
        for threads, registers, shared in itertools.product(
            (1, 33, 128, 768, 1024), (16, 40, 96, 255), (0, 5000, 40000)
        ):
            right = int(occupancy(capability, threads, registers, shared).blocks_per_sm)
            assert (
                EXERCISE.reference(threads, registers, shared, sm)
                == right
                == one_by_one(threads, registers, shared, sm)
            )


@pytest.mark.parametrize("constant", [0, 1, 6, 8, 32])
def test_a_constant_earns_next_to_nothing(constant: int) -> None:
    assert grade("occupancy/blocks_per_sm", lambda threads, registers, shared, sm: constant, 3) <= (constant == 0)


def test_hidden_cases_are_not_shown_and_no_sentence_gives_a_number_away() -> None:
    result = check("occupancy/blocks_per_sm", lambda threads, registers, shared, sm: sm["nothing"], 4)
    assert result.points == 0
    for part in result.parts:
        assert part.message.count("blocks_per_sm(") == 1  # the visible case that failed first
    sentences = [wrong.sentence for wrong in EXERCISE.wrong_models] + [group.hint for group in EXERCISE.groups]
    assert not any(re.search(r"\d", sentence) for sentence in sentences)
