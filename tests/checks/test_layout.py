"""Checks of chapter `layout`: right answers, every wrong model by name, and no number given away."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable

import numpy as np
import pytest

from course import cuda
from course.checks import check, grade
from course.checks.kernel import KernelCheck
from course.checks.layout import aosoa, bytes_moved, kv, soa
from course.models.coalescing import coalesce
from course.models.layout import Records, struct
from course.profiling.profile import profile
from tests.checks.test_function import assert_models_differ
from tests.support.kernel_answers import load, reference

SEEDS = (None, 0, 1, 2, "autumn", 10**30)
EXERCISE = bytes_moved.EXERCISE


# Exercise (a): bytes_moved --------------------------------------------------------------------------


def by_brute_force(layout: str, fields: dict[str, int], read: list[str], tile: int) -> int:
    """Write every byte of 32 records into a dict of its place, then count the sectors of each read."""
    place: dict[tuple[int, str], int] = {}
    at = 0
    groups: list[tuple[range, Iterable[str]]] = {
        "aos": [(range(i, i + 1), fields) for i in range(32)],
        "soa": [(range(32), [name]) for name in fields],
        "aosoa": [(range(i, i + tile), fields) for i in range(0, 32, tile)],
    }[layout]  # type: ignore[assignment]
    for records, some in groups:
        for name in some:
            for i in records:
                place[i, name], at = at, at + fields[name]
        if layout == "soa":
            at = -(-at // 256) * 256
    return 32 * sum(len({place[i, name] // 32 for i in range(32)}) for name in read)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_right_function_earns_every_point(seed: int | str | None) -> None:
    result = check("layout/bytes_moved", by_brute_force, seed)
    assert result.right
    assert result.points == 6
    assert result.feedback == ""


def test_wrong_models_differ_on_the_visible_cases_already() -> None:
    assert_models_differ(EXERCISE, (case for case in EXERCISE.cases(0) if not case.hidden))


@pytest.mark.parametrize("seed", range(10))
def test_no_record_of_a_case_has_padding_and_every_field_exists(seed: int) -> None:
    for case in EXERCISE.cases(seed):
        layout, fields, read, tile = case.arguments
        record = struct({name: {1: "u1", 2: "i2", 4: "f4", 8: "f8"}[size] for name, size in fields.items()})
        assert record.padding_bytes == 0
        assert read and set(read) <= set(fields) and len(set(read)) == len(read)
        assert layout in ("aos", "soa", "aosoa") and tile in (4, 8, 16, 32)


@pytest.mark.parametrize("constant", [0, 128, 512, 1024])
def test_a_constant_earns_nothing(constant: int) -> None:
    assert grade("layout/bytes_moved", lambda layout, fields, read, tile: constant, 3) == 0


def test_hidden_cases_are_not_shown_and_no_sentence_gives_a_number_away() -> None:
    result = check("layout/bytes_moved", lambda layout, fields, read, tile: fields["nothing"], 4)
    assert result.points == 0
    for part in result.parts:
        assert part.message.count("bytes_moved(") == 1  # the visible case that failed first
    assert not any(re.search(r"\b(128|512|16|256)\b", wrong.sentence) for wrong in EXERCISE.wrong_models)


# Kernel exercises -----------------------------------------------------------------------------------


KERNELS: list[KernelCheck] = [soa.EXERCISE, aosoa.EXERCISE, kv.EXERCISE]


@pytest.mark.parametrize("exercise", KERNELS, ids=lambda e: e.name)
@pytest.mark.parametrize("seed", [None, 5])
def test_the_reference_costs_exactly_the_budget(exercise: KernelCheck, seed: int | None) -> None:
    """A budget below is out of reach, one above lets waste pass."""
    kernel = load(exercise.name, reference(exercise.name))
    for case in exercise.cases(seed):
        budgets = exercise.launch_of(case).budgets
        found = exercise.attempted(kernel, case, math.inf)
        assert found.right and found.profile is not None
        for budget in exercise.budgets:
            for number, most in budgets[budget.name].items():
                assert found.profile.total("global", number, budget.kind) == most


@pytest.mark.parametrize("exercise", KERNELS[:2], ids=lambda e: e.name)
def test_hidden_lengths_are_no_multiple_of_a_sector_a_block_or_a_tile(exercise: KernelCheck) -> None:
    for seed in range(20):
        hidden = [case.sizes for case in exercise.cases(seed) if case.hidden]
        assert len(hidden) >= 5
        assert sum(sizes["n"] % sizes["threads"] != 0 for sizes in hidden) >= len(hidden) - 1
        assert all(sizes["n"] % sizes.get("tile", 8) for sizes in hidden)
        assert any(sizes["n"] < sizes.get("tile", 32) for sizes in hidden)
    assert exercise.cases(1) != exercise.cases(2)


def test_tiles_come_in_widths_that_are_no_power_of_two() -> None:
    widths = {case.sizes["tile"] for case in aosoa.EXERCISE.cases(3)}
    assert {8, 24, 40} <= widths


def test_records_and_their_arrays_hold_the_same_values() -> None:
    for case in soa.EXERCISE.cases(2):
        p, fields, _, n, pitch, _ = soa.EXERCISE.launch_of(case).arguments
        assert p.dtype.isalignedstruct and pitch % 8 == 0 and n <= pitch < n + 8
        for number, name in enumerate(soa.FIELDS):
            assert np.array_equal(fields[number * pitch : number * pitch + n], p[name])


def test_the_budget_of_the_arrays_is_that_of_rows_that_start_at_a_sector() -> None:
    n, pitch = 1001, 1008
    lanes = np.arange(32 * 32).reshape(32, 32)
    starts = [coalesce(4 * (f * pitch + lanes), 4, lanes < n).sectors.sum() for f in range(4)]
    model = Records(struct(dict.fromkeys(soa.FIELDS, "f4")), "soa", n).traffic(soa.READ)
    assert sum(starts) == model.sectors


OTHER_PLACES = {
    "heads within dims": "((block * dims + d) * heads + head) * tokens + token",
    "one line after the other": "token + tokens * (d + dims * (head + heads * block))",
    "backwards": "((block * heads + head) * dims + d) * tokens + tokens - 1 - token",
}


@pytest.mark.parametrize("formula", OTHER_PLACES.values(), ids=OTHER_PLACES)
@pytest.mark.parametrize("seed", [None, 0, "autumn"])
def test_any_layout_with_the_tokens_last_is_right(formula: str, seed: int | str | None) -> None:
    head = "@cuda.jit(device=True)\ndef place(block, token, head, d, tokens, heads, dims):\n    return "
    assert grade("layout/kv", load("layout/kv", head + formula), seed) == 6


def test_a_plain_function_and_one_of_numba_are_places_too() -> None:
    from numba import cuda as numba_cuda

    place = load("layout/kv", reference("layout/kv"))
    assert grade("layout/kv", place.py_func, 1) == 6  # type: ignore[attr-defined]
    assert grade("layout/kv", numba_cuda.jit(device=True)(place.py_func), 1) == 6  # type: ignore[attr-defined]


def test_feedback_on_a_place_names_no_line_number_of_a_kernel_that_nobody_sees() -> None:
    for text in ("block", "((block * tokens + token) * heads + head) * dims + d", "-1 - token", "block * 10**6"):
        head = "@cuda.jit(device=True)\ndef place(block, token, head, d, tokens, heads, dims):\n    return "
        result = check("layout/kv", load("layout/kv", head + text), 2)
        assert not result.right
        for part in result.parts:
            assert not re.search(r"\bline \d", part.message, re.I), part.message


@pytest.mark.parametrize("value", [print, int, cuda, object(), type("Place", (), {"__call__": lambda *_: 0})()])
def test_what_no_kernel_can_call_earns_nothing(value: object, capsys: pytest.CaptureFixture[str]) -> None:
    assert grade("layout/kv", value, 1) == 0
    assert capsys.readouterr().err == ""


def test_a_cache_whose_numbers_share_places_is_a_finding() -> None:
    head = "@cuda.jit(device=True)\ndef place(block, token, head, d, tokens, heads, dims):\n    return "
    result = check("layout/kv", load("layout/kv", head + "(block * heads + head) * dims * tokens + token"), 2)
    assert result.points == 0
    messages = {part.name: part.message for part in result.parts}
    assert "the same element of cache" in messages["findings"]
    assert "index of its own" in messages["results"]


def test_the_budget_of_the_cache_is_what_a_brute_force_count_gives() -> None:
    blocks, tokens, heads, dims = 3, 8, 2, 4
    total = 0
    for head, d, warp in itertools.product(range(heads), range(dims), range(1)):
        lanes = range(32 * warp, min(32 * warp + 32, blocks * tokens))
        index = [((i // tokens * heads + head) * dims + d) * tokens + i % tokens for i in lanes]
        total += len({4 * at // 32 for at in index}) + 1
    assert kv.budget(blocks, tokens, heads, dims) == total


# What the exercises rely on ---------------------------------------------------------------------------


@cuda.jit
def read_x(p, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = p[i].x


@pytest.mark.parametrize("order", [(False, True), (True, False)])
def test_packed_and_aligned_records_are_told_apart_whichever_a_kernel_saw_first(order: tuple[bool, bool]) -> None:
    """NumPy calls the two types equal."""
    kernel = cuda.jit(read_x.py_func)
    for align in order:
        dtype = np.dtype([("x", "f4"), ("y", "f4")], align=align)
        seen = profile(kernel, 1, 32, np.zeros(32, dtype), np.zeros(32, np.float32))
        assert seen.total("global", "instructions", "load") == (1 if align else 4)
