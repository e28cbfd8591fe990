"""Checks of chapter `occupancy`: right answers, every wrong model by name, and no number given away."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable

import pytest

from course.cards import LIMITS, card, limits
from course.checks import check, grade
from course.checks.occupancy import blocks_per_sm, in_flight, largest_tile, limiter
from course.models.occupancy import in_flight as model_in_flight
from course.models.occupancy import occupancy
from tests.checks.test_function import assert_models_differ
from tests.support.kernel_answers import load, reference
from tests.support.paper_answers import ANSWERS, POINTS
from tests.support.placed_blocks import placed

SEEDS = (None, 0, 1, 2, "autumn", 10**30)
EXERCISE = blocks_per_sm.EXERCISE
REFERENCE = load(EXERCISE.name, reference(EXERCISE.name))


@pytest.mark.parametrize(("value", "points"), [(0.5, 3.5), (0.375, 4.0), (37.5, 4.0)])
def test_half_of_the_slots_needs_fewer_registers_than_question_6_has(value: float, points: float) -> None:
    assert grade("occupancy/q6", {**ANSWERS["occupancy/q6"], "occupancy_after": value}) == points


@pytest.mark.parametrize("name", [name for name in POINTS if name.startswith("occupancy/")])
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


def test_wrong_models_differ_on_the_visible_cases_already() -> None:
    assert_models_differ(EXERCISE, (case for case in EXERCISE.cases(0) if not case.hidden))


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
