"""course.models.banks against the counters of an H200 and against the rule written out lane by lane."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course.models.banks import BankConflicts, Tile, bank_of, conflict_degree, lane_groups, schedule, wavefronts
from course.models.coalescing import ACCESS_BYTES, MisalignedAccess

MEASURED = json.loads((Path(__file__).parents[2] / "course/measured/h200_counters.json").read_text())["cases"]
SIZES = {"float32": 4, "float64": 8, "int8": 1, "complex128": 16}
LANE = np.arange(32)


def by_hand(addresses: list[int], size: int, is_load: bool, active: list[bool]) -> tuple[int, int, int]:
    """The rule for one warp, with Python sets: (wavefronts, ideal, degree)."""
    words = max(size // 4, 1)
    group = 32 // words
    lanes = len(addresses)

    def agree(d: int) -> bool:
        return all(addresses[n] == addresses[n ^ d] for n in range(lanes) if active[n] and active[n ^ d])

    if is_load and words > 1 and (agree(1) or agree(2)):
        group *= 2
    costs = []
    for start in range(0, lanes, group):
        banks: dict[int, set[int]] = {}
        for n in range(start, start + group):
            if active[n]:
                for w in range(addresses[n] // 4, addresses[n] // 4 + words):
                    banks.setdefault(w % 32, set()).add(w)
        costs.append(max((len(v) for v in banks.values()), default=0))
    return sum(costs), sum(c > 0 for c in costs), max(costs)


def case(name: str) -> tuple[str, int, int, int]:
    kind, dtype, stride, offset = name.split("/")
    return kind, SIZES[dtype], int(stride[1:]), int(offset[1:])


@pytest.mark.parametrize("measured", [c for c in MEASURED if c["name"].startswith("shld")], ids=lambda c: c["name"])
def test_strided_loads_cost_what_the_h200_counted(measured: dict) -> None:
    _, size, stride, offset = case(measured["name"])
    load = wavefronts((LANE * stride + offset) * size, size, "load")
    assert load.wavefronts[0] == measured["shared_ld_wavefronts"]
    assert load.conflicts[0] == measured["shared_ld_conflicts"]
    words = 4352 if size == 1 else 2176
    fill = wavefronts(np.arange(words).reshape(-1, 32) * size, size, "store")
    assert fill.instructions == measured["shared_st_instructions"]
    assert fill.wavefronts.sum() == measured["shared_st_wavefronts"]


@pytest.mark.parametrize("measured", [c for c in MEASURED if c["name"].startswith("shst")], ids=lambda c: c["name"])
def test_strided_stores_cost_what_the_h200_counted(measured: dict) -> None:
    _, size, stride, offset = case(measured["name"])
    store = wavefronts((LANE * stride + offset) * size, size, "store")
    load = wavefronts(((31 - LANE) * stride + offset) * size, size, "load")
    assert store.wavefronts[0] == measured["shared_st_wavefronts"]
    assert store.conflicts[0] == measured["shared_st_conflicts"]
    assert load.wavefronts[0] == measured["shared_ld_wavefronts"]


@pytest.mark.parametrize("pad, wavefronts_measured", [(0, 262144), (1, 8192), (4, 32768)])
def test_columns_of_a_transpose_tile_cost_what_the_h200_counted(pad: int, wavefronts_measured: int) -> None:
    column = LANE[np.newaxis] * (32 + pad) + np.arange(32)[:, np.newaxis]  # one warp per column of the tile
    measured = next(c for c in MEASURED if c["name"] == f"tr/T32p{pad}")
    assert measured["shared_ld_wavefronts"] == wavefronts_measured
    assert wavefronts(column * 4).wavefronts.sum() * 256 == measured["shared_ld_wavefronts"]


@given(st.data())
def test_any_access_costs_what_the_rule_says_lane_by_lane(data: st.DataObject) -> None:
    size = data.draw(st.sampled_from([1, 2, 4, 8, 16]))
    lanes = data.draw(st.sampled_from([32, 32, 32, 64]))
    top = data.draw(st.sampled_from([1, 4, 40, 600]))
    elements = data.draw(st.lists(st.integers(0, top), min_size=lanes, max_size=lanes))
    pair = data.draw(st.sampled_from([0, 1, 2]))  # pairs that agree are rare at random
    if pair:
        elements = [elements[n & ~pair] for n in range(lanes)]
    active = data.draw(st.lists(st.booleans(), min_size=lanes, max_size=lanes))
    kind = data.draw(st.sampled_from(["load", "store", "atomic"]))
    addresses = [e * size for e in elements]
    cost = wavefronts(addresses, size, kind, active)
    assert (cost.wavefronts[0], cost.ideal_wavefronts[0], cost.degree[0]) == by_hand(
        addresses, size, kind == "load", active
    )
    assert cost.active_lanes[0] == sum(active)


def test_many_warps_cost_what_each_costs_alone() -> None:
    rng = np.random.default_rng(1)
    addresses = rng.integers(0, 500, (50, 32)) * 8
    active = rng.random((50, 32)) < 0.7
    together = wavefronts(addresses, 8, "load", active)
    alone = [wavefronts(a, 8, "load", m) for a, m in zip(addresses, active, strict=True)]
    for name in ("active_lanes", "wavefronts", "ideal_wavefronts", "degree"):
        assert getattr(together, name).tolist() == [int(getattr(one, name)[0]) for one in alone]


def test_lanes_that_read_one_word_share_a_wavefront() -> None:
    assert wavefronts(np.zeros(32, int)).wavefronts[0] == 1


def test_a_column_of_an_unpadded_tile_is_a_32_way_conflict_and_one_more_column_removes_it() -> None:
    assert wavefronts(LANE * 32 * 4).degree[0] == 32
    assert wavefronts(LANE * 33 * 4).degree[0] == 1


def test_pairs_of_equal_wide_loads_halve_the_groups_but_stores_do_not() -> None:
    pairs = (LANE // 2) * 8
    assert wavefronts(pairs, 8, "load").wavefronts[0] == 1
    assert wavefronts(pairs, 8, "store").wavefronts[0] == 2


def test_a_warp_of_64_lanes_has_twice_the_groups() -> None:
    assert wavefronts(np.arange(64) * 4).wavefronts[0] == 2


def test_an_idle_warp_costs_nothing() -> None:
    idle = wavefronts(LANE * 4, active=0)
    assert (idle.instructions, idle.wavefronts[0], idle.ideal_wavefronts[0]) == (0, 0, 0)


def test_a_short_row_of_lanes_is_a_warp_with_inactive_lanes() -> None:
    assert wavefronts([0, 128, 256]).wavefronts[0] == 3
    assert isinstance(wavefronts([0]), BankConflicts)


@pytest.mark.parametrize(
    "arguments, error, words",
    [
        (([0], 3), ValueError, "expected 1, 2, 4, 8 or 16"),
        (([0], 4, "read"), ValueError, 'expected "load"'),
        (([2], 4), MisalignedAccess, "multiple of 4"),
        (([-4], 4), ValueError, "expected 0 or more"),
        (([0.5], 4), TypeError, "whole numbers"),
        ((np.zeros((2, 40), int), 4), ValueError, "at most 32 lanes, or 64"),
        (([[]], 4), ValueError, "at most 32 lanes"),
    ],
)
def test_wrong_input_is_named(arguments: tuple, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        wavefronts(*arguments)


# Degree, tiles and AMD --------------------------------------------------------------------------


@given(st.integers(0, 200), st.integers(0, 40))
def test_the_degree_of_a_strided_access_is_the_greatest_common_divisor_with_32(stride: int, offset: int) -> None:
    assert conflict_degree(LANE * stride + offset)[0] == (np.gcd(stride, 32) if stride else 1)


@given(st.lists(st.integers(0, 300), min_size=32, max_size=32), st.lists(st.booleans(), min_size=32, max_size=32))
def test_the_degree_is_the_most_distinct_words_in_one_bank(words: list[int], active: list[bool]) -> None:
    wanted = {word for word, on in zip(words, active, strict=True) if on}
    most = max((sum(word % 32 == bank for word in wanted) for bank in range(32)), default=0)
    assert conflict_degree(words, active)[0] == most
    assert list(bank_of(np.array(words) * 4)) == [word % 32 for word in words]


@given(st.integers(1, 40), st.integers(1, 40), st.integers(0, 4), st.sampled_from([1, 2, 4, 8, 16]), st.booleans())
def test_a_tile_lies_where_numpy_puts_a_padded_array(rows: int, columns: int, pad: int, size: int, swap: bool) -> None:
    tile = Tile(rows, columns, pad, size)
    array = np.arange(rows * (columns + pad)).reshape(rows, columns + pad)[:, :columns] * size
    assert tile.shared_bytes == rows * (columns + pad) * size
    assert np.array_equal(tile.addresses(np.arange(rows)[:, np.newaxis], np.arange(columns)), array)
    block = (rows, columns) if swap else (columns, rows)
    addresses, exists = tile.threads(block, transposed=swap)
    assert np.array_equal(addresses[exists], (array.T if swap else array).reshape(-1))


@pytest.mark.parametrize(
    ("pad", "row", "column", "diagonal"), [(0, 1, 32, 1), (1, 1, 1, 2), (2, 1, 2, 1), (4, 1, 4, 1), (16, 1, 16, 1)]
)
def test_what_a_pad_does_to_a_tile_of_32_floats(pad: int, row: int, column: int, diagonal: int) -> None:
    tile = Tile(32, 32, pad)
    found = [int(tile.access(way).wavefronts[0]) for way in ("row", "column", "diagonal")]
    assert found == [row, column, diagonal]


def test_amd_serves_a_4_byte_access_in_two_halves_and_a_16_byte_access_in_its_own_eights() -> None:
    lane = np.arange(64)
    assert wavefronts(lane * 4, 4, hardware="amd").wavefronts[0] == 2
    assert wavefronts(lane * 33 * 4, 4, hardware="amd").wavefronts[0] == 2
    for kind in ("load", "store"):
        assert wavefronts(lane * 16, 16, kind, hardware="amd").wavefronts[0] == 8


@given(st.lists(st.integers(0, 40), min_size=64, max_size=64), st.sampled_from(["load", "store"]))
def test_a_wide_amd_access_costs_what_amds_table_of_lanes_says(elements: list[int], kind: str) -> None:
    reads = [[0, 20], [4, 16], [8, 28], [12, 24]]  # first lanes of the two fours that are served together
    groups = [[lane + half for first in pair for lane in range(first, first + 4)] for half in (0, 32) for pair in reads]
    if kind == "store":
        groups = [list(range(first, first + 8)) for first in range(0, 64, 8)]
    cost = 0
    for group in groups:
        words = {elements[lane] * 4 + word for lane in group for word in range(4)}
        cost += max(sum(word % 32 == bank for word in words) for bank in range(32))
    assert wavefronts(np.array(elements) * 16, 16, kind, hardware="amd").wavefronts[0] == cost


def test_a_padded_row_that_is_free_on_nvidia_can_conflict_on_amd() -> None:
    lane = np.arange(64)
    row, column = lane % 16, lane // 16  # a matrix fragment: lanes run down a column of 16-byte elements
    addresses = (row * 5 + column) * 16  # rows of four elements, padded to five
    nvidia = wavefronts(addresses.reshape(2, 32), 16)
    amd = wavefronts(addresses, 16, hardware="amd")
    assert nvidia.conflicts.sum() == 0 and amd.conflicts[0] > 0


def test_sentences_carry_their_numbers() -> None:
    assert str(wavefronts(LANE * 32 * 4)) == "1 shared access: 32 wavefronts where 1 would do, up to 32-way conflicts."
    assert str(wavefronts(LANE * 4)) == "1 shared access: 1 wavefront where 1 would do, no bank conflict."
    assert str(wavefronts(LANE * 4, active=0)) == "No lane is active, so no shared access is issued."
    assert str(Tile(32, 32, 1)) == "A tile [32][32 + 1] takes 4224 B; a row costs 1 and a column 1 wavefronts."


@pytest.mark.parametrize(
    "call, error, words",
    [
        (lambda: Tile(0, 4), ValueError, "rows is 0: expected a whole number of 1 or more"),
        (lambda: Tile(4, 4, 0, 3), ValueError, "expected 1, 2, 4, 8 or 16"),
        (lambda: Tile(4, 4).addresses(4, 0), IndexError, "outside the tile of 4 x 4"),
        (lambda: Tile(4, 4).access("zigzag"), ValueError, "expected one of row, column, diagonal"),
        (lambda: conflict_degree([0.5]), TypeError, "expected whole numbers"),
        (lambda: wavefronts([0], hardware="intel"), ValueError, 'expected "nvidia" or "amd"'),
        (lambda: wavefronts(LANE * 4, hardware="amd"), ValueError, "a wavefront of 32 lanes"),
        (
            lambda: wavefronts(np.arange(64) * 8, 8, hardware="amd"),
            ValueError,
            "AMD documents no lane groups for 8-byte",
        ),
    ],
)
def test_input_that_makes_no_sense_is_refused_with_the_reason(call, error, words) -> None:
    with pytest.raises(error, match=re.escape(words)):
        call()


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.integers(0, 255), min_size=1, max_size=32),
    st.sampled_from(ACCESS_BYTES),
    st.sampled_from(("load", "store")),
)
def test_a_schedule_has_as_many_wavefronts_as_the_access_costs(elements, size, kind):
    addresses = np.array(elements) * size
    deliveries = schedule(addresses, size, kind)
    assert 1 + max(one.wavefront for one in deliveries) == wavefronts(addresses, size, kind).wavefronts[0]
    assert len({(one.wavefront, one.bank) for one in deliveries}) == len(deliveries)
    groups = lane_groups(addresses, size, kind)[0]
    for one in deliveries:
        assert one.bank == one.word % 32
        assert {groups[lane] for lane in one.lanes} == {one.group}
        assert all(addresses[lane] // 4 <= one.word <= (addresses[lane] + size - 1) // 4 for lane in one.lanes)


def test_a_schedule_is_that_of_one_warp():
    with pytest.raises(ValueError, match="addresses are those of 2 warps"):
        schedule(np.zeros((2, 32), int))
