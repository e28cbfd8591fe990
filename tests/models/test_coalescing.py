"""course.models.coalescing against hardware counters and against plain Python sets."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from course import measured
from course.models.coalescing import (
    ACCESS_BYTES,
    MisalignedAccess,
    coalesce,
    index_addresses,
    lane_addresses,
    thread_indices,
    units_touched,
)

CASES = measured.counters()
THREADS, WARPS = 1 << 16, 2048  # every small launch: 256 blocks of 256 threads
BYTES = {"int8": 1, "int16": 2, "float32": 4, "float64": 8}
# numba reads and writes a complex number as its two halves: two requests of half the size.
HALVES = {"complex64": 4, "complex128": 8}


def requests_and_sectors(*counted):
    return sum(c.requests for c in counted), sum(int(c.sectors.sum()) for c in counted)


def measured_pair(case, way):
    return case[f"{way}_requests"], case[f"{way}_sectors"]


def strided(dtype, stride, offset):
    if dtype in BYTES:
        return [coalesce(lane_addresses(stride, offset, BYTES[dtype], warps=WARPS), BYTES[dtype])]
    half = HALVES[dtype]
    return [coalesce(lane_addresses(2 * stride, 2 * offset + part, half, warps=WARPS), half) for part in (0, 1)]


def cases_of(*families):
    chosen = [name for name in CASES if name.split("/")[0] in families]
    assert chosen, f"no measured case of {families}"
    return chosen


@pytest.mark.parametrize("name", cases_of("ld", "st"))
def test_strided_loads_and_stores_cost_what_the_h200_counted(name):
    way, dtype, stride, offset = re.fullmatch(r"(ld|st)/(\w+)/s(\d+)/o(\d+)", name).groups()
    assert requests_and_sectors(*strided(dtype, int(stride), int(offset))) == measured_pair(CASES[name], way)


@pytest.mark.parametrize("name", cases_of("masked"))
def test_inactive_lanes_cost_nothing_as_the_h200_counted(name):
    divisor, remainder = (int(n) for n in re.fullmatch(r"masked/m(\d+)/r(\d+)", name).groups())
    active = (np.arange(THREADS) % divisor == remainder).reshape(WARPS, 32)
    counted = coalesce(lane_addresses(warps=WARPS), 4, active)
    for way in ("ld", "st"):
        assert requests_and_sectors(counted) == measured_pair(CASES[name], way)


@pytest.mark.parametrize("name", cases_of("tail"))
def test_a_ragged_tail_costs_what_the_h200_counted(name):
    n = int(name.split("/")[1])
    warps = -(-n // 256) * 8
    counted = coalesce(lane_addresses(warps=warps), 4, np.arange(warps * 32).reshape(warps, 32) < n)
    for way in ("ld", "st"):
        assert requests_and_sectors(counted) == measured_pair(CASES[name], way)


@pytest.mark.parametrize("name", cases_of("view"))
def test_a_view_that_starts_inside_costs_what_the_h200_counted(name):
    start = int(name.split("/")[1])
    active = np.arange(THREADS).reshape(WARPS, 32) < THREADS - 64
    load = coalesce(lane_addresses(1, start, 4, warps=WARPS), 4, active)
    store = coalesce(lane_addresses(warps=WARPS), 4, active)
    assert requests_and_sectors(load) == measured_pair(CASES[name], "ld")
    assert requests_and_sectors(store) == measured_pair(CASES[name], "st")


@pytest.mark.parametrize("name", cases_of("copy2d", "copy2d_bad"))
def test_two_dimensional_blocks_cost_what_the_h200_counted(name):
    family, shape = name.split("/")
    width, height = (int(n) for n in shape.split("x"))
    x, y, exists = thread_indices((width, height))
    side = 256
    counted = []
    for block_y in range(-(-side // height)):
        for block_x in range(-(-side // width)):
            column, row = block_x * width + x, block_y * height + y
            inside = exists & (column < side) & (row < side)
            element = row * side + column if family == "copy2d" else column * side + row
            counted.append(coalesce(index_addresses(np.where(inside, element, 0)), 4, inside))
    for way in ("ld", "st"):
        assert requests_and_sectors(*counted) == measured_pair(CASES[name], way)


def test_the_measured_file_has_every_family_the_models_are_held_to():
    sizes = {f: len(cases_of(f)) for f in ("ld", "st", "masked", "tail", "view", "copy2d", "copy2d_bad")}
    assert sizes["ld"] >= 130 and sizes["st"] >= 30
    assert sum(sizes.values()) >= 190


# One warp, by hand and by brute force -----------------------------------------------------------


@st.composite
def warps_of_addresses(draw):
    size = draw(st.sampled_from(ACCESS_BYTES))
    lanes = draw(st.sampled_from([32, 64]))
    rows = draw(st.integers(1, 4))
    table = draw(st.lists(st.lists(st.integers(0, 4000), min_size=lanes, max_size=lanes), min_size=rows, max_size=rows))
    mask = draw(st.lists(st.lists(st.booleans(), min_size=lanes, max_size=lanes), min_size=rows, max_size=rows))
    return size, np.array(table) * size, np.array(mask)


@given(warps_of_addresses(), st.sampled_from([32, 64, 128]))
def test_sectors_and_lines_are_the_distinct_units_that_a_set_finds(warp, unit):
    size, addresses, mask = warp
    counted = coalesce(addresses, size, mask, unit_bytes=unit)
    for row in range(len(addresses)):
        touched = [
            byte
            for lane in range(addresses.shape[1])
            if mask[row, lane]
            for byte in range(addresses[row, lane], addresses[row, lane] + size)
        ]
        assert counted.sectors[row] == len({byte // unit for byte in touched})
        assert counted.lines[row] == len({byte // 128 for byte in touched})
        assert counted.requested_bytes[row] == len(touched)
        assert counted.transferred_bytes[row] == unit * len({byte // unit for byte in touched})
        assert list(units_touched(addresses[row], size, mask[row], unit_bytes=unit)) == sorted(
            {byte // unit for byte in touched}
        )
    assert counted.requests == int(mask.any(axis=1).sum())


@pytest.mark.parametrize(
    ("warps", "lanes"), [(5000, 32), (3, 1), (3, 5), (3, 8), (3, 40), (3, 248), (3, 256), (3, 300)]
)
@pytest.mark.parametrize("order", ["any", "ascending", "ascending but for one warp"])
def test_any_number_of_warps_and_lanes_is_counted_as_a_set_counts(warps, lanes, order):
    addresses = np.random.default_rng(0).integers(0, 8000, (warps, lanes)) * 4
    if order != "any":
        addresses.sort(axis=1)
    if order == "ascending but for one warp":
        addresses[-1] = addresses[-1, ::-1]
    counted = coalesce(addresses, 4)
    assert counted.sectors.tolist() == [len({address // 32 for address in warp}) for warp in addresses.tolist()]
    assert counted.lines.tolist() == [len({address // 128 for address in warp}) for warp in addresses.tolist()]


@pytest.mark.parametrize(
    ("stride", "sectors", "lines", "efficiency"),
    [(1, 4, 1, 1.0), (2, 8, 2, 0.5), (4, 16, 4, 0.25), (8, 32, 8, 0.125), (16, 32, 16, 0.125), (32, 32, 32, 0.125)],
)
def test_the_stride_table_of_four_byte_loads(stride, sectors, lines, efficiency):
    counted = coalesce(lane_addresses(stride), 4)
    assert (counted.sectors[0], counted.lines[0], counted.efficiency) == (sectors, lines, efficiency)


@pytest.mark.parametrize("size", ACCESS_BYTES)
def test_ideal_sectors_per_request_equal_the_element_size(size):
    assert coalesce(lane_addresses(element_bytes=size), size).sectors_per_request == size


def test_only_a_base_that_is_not_32_byte_aligned_costs_a_fifth_sector():
    sectors = [coalesce(lane_addresses(1, offset), 4).sectors[0] for offset in range(25)]
    assert sectors == [4 if offset % 8 == 0 else 5 for offset in range(25)]


def test_the_worst_case_is_8_times_for_floats_and_32_times_for_bytes():
    for size, worst in ((4, 8), (1, 32)):
        ideal = coalesce(lane_addresses(1, 0, size), size).transferred_bytes[0]
        assert coalesce(lane_addresses(4096, 0, size), size).transferred_bytes[0] == worst * ideal


def test_four_interleaved_byte_loads_cost_sixteen_sectors_and_four_planes_cost_four():
    interleaved = [coalesce(lane_addresses(4, byte, 1), 1) for byte in range(4)]
    planes = [coalesce(lane_addresses(1, 32 * byte, 1), 1) for byte in range(4)]
    assert sum(c.sectors[0] for c in interleaved) == 16
    assert sum(c.sectors[0] for c in planes) == 4


def test_a_negative_stride_costs_what_the_positive_one_does():
    assert coalesce(lane_addresses(-1, 31), 4).sectors[0] == coalesce(lane_addresses(1), 4).sectors[0] == 4


def test_a_broadcast_is_one_sector_and_serves_32_lanes():
    counted = coalesce(lane_addresses(0), 4)
    assert counted.sectors[0] == 1 and counted.efficiency == 4.0


def test_an_idle_warp_issues_no_request():
    counted = coalesce(lane_addresses(8), 4, active=0)
    assert (counted.requests, counted.sectors[0], counted.requested_bytes[0]) == (0, 0, 0)
    assert np.isnan(counted.efficiency) and np.isnan(counted.sectors_per_request)
    assert "No lane is active" in str(counted)


def test_an_idle_warp_among_others_leaves_the_average_alone():
    active = np.ones((3, 32), bool)
    active[1] = False
    assert coalesce(lane_addresses(8, warps=3), 4, active).sectors_per_request == 32


def test_a_block_becomes_warps_along_x_first():
    x, y, exists = thread_indices((33, 3))
    assert x.shape == (4, 32) and exists.sum() == 99
    assert (x[1, 0], y[1, 0]) == (32, 0) and (x[1, 1], y[1, 1]) == (0, 1)


def test_the_sentence_of_a_result_carries_its_numbers():
    assert str(coalesce(lane_addresses(8), 4)) == (
        "1 request: 32 sectors in 8 lines, 128 B requested, 1024 B transferred, efficiency 12.5 %."
    )


# Input that makes no sense ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: lane_addresses(element_bytes=3), ValueError, "expected 1, 2, 4, 8 or 16"),
        (lambda: coalesce([0, 4], 32), ValueError, "expected 1, 2, 4, 8 or 16"),
        (lambda: lane_addresses(1.5), TypeError, "stride is 1.5: expected a whole number"),
        (lambda: lane_addresses(True), TypeError, "expected a whole number"),
        (lambda: lane_addresses(-1), ValueError, "lowest address is -124"),
        (lambda: lane_addresses(lanes=0), ValueError, "lanes is 0: expected 1 or more"),
        (lambda: coalesce([[[0]]], 4), ValueError, "expected (lanes,) or (warps, lanes)"),
        (lambda: coalesce([], 4), ValueError, "at least one lane"),
        (lambda: coalesce([0.0, 4.0], 4), TypeError, "expected whole numbers"),
        (lambda: coalesce([0, -4], 4), ValueError, "lane 1 of warp 0 has address -4"),
        (lambda: coalesce([0, 4], 4, active=3), ValueError, "expected 0 to 2 lanes"),
        (lambda: coalesce([0, 4], 4, active=[1, 0]), TypeError, "expected True or False per lane"),
        (lambda: coalesce([0, 4], 4, active=[True] * 3), ValueError, "one value per lane"),
        (lambda: coalesce([0, 4], 4, unit_bytes=48), ValueError, "expected a power of two"),
        (lambda: thread_indices((0, 3)), ValueError, "expected 1 or more"),
        (lambda: thread_indices((1, 2, 3, 4)), ValueError, "one to three sizes"),
    ],
)
def test_input_that_makes_no_sense_is_refused_with_the_reason(call, error, words):
    with pytest.raises(error, match=re.escape(words)):
        call()


def test_a_misaligned_wide_access_is_refused_as_the_hardware_refuses_it():
    with pytest.raises(MisalignedAccess, match="lane 0 of warp 0 has address 4, which is 4 more than a multiple of 16"):
        coalesce(lane_addresses(1, 0, 16, base=4), 16)


def test_a_misaligned_lane_that_is_inactive_does_no_harm():
    assert coalesce([0, 6], 4, active=[True, False]).sectors[0] == 1
