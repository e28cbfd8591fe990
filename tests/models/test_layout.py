"""course.models.layout against NumPy's and C's own struct layout, hardware counters and brute force."""

from __future__ import annotations

import ctypes
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course import measured
from course.models.layout import (
    KV_DIM_FIRST,
    KV_TOKENS_FIRST,
    NCHW,
    NHWC,
    Records,
    Tensor,
    padded_pitch,
    struct,
)

CASES = measured.counters()
COUNT = 1 << 16  # records of every measured case
C_TYPES = {
    "i1": ctypes.c_int8,
    "u2": ctypes.c_uint16,
    "i4": ctypes.c_int32,
    "f4": ctypes.c_float,
    "i8": ctypes.c_int64,
    "f8": ctypes.c_double,
    "?": ctypes.c_bool,
}
FIELDS = st.lists(st.sampled_from(sorted(C_TYPES)), min_size=1, max_size=8).map(
    lambda kinds: [(f"f{i}", kind) for i, kind in enumerate(kinds)]
)
P, P3 = ([(name, "f4") for name in names] for names in ("xyzw", "xyz"))


@given(FIELDS, st.booleans())
def test_a_struct_is_laid_out_as_numpy_does_it(fields, align):
    ours, theirs = struct(fields, align=align), np.dtype(fields, align=align)
    assert ours.struct_bytes == theirs.itemsize
    assert list(ours.offsets) == [theirs.fields[name][1] for name in ours.names]
    assert ours.padding_bytes == theirs.itemsize - sum(np.dtype(kind).itemsize for _, kind in fields)
    if align:
        assert ours.alignment_bytes == theirs.alignment


@given(FIELDS, st.booleans())
def test_a_struct_is_laid_out_as_the_c_compiler_does_it(fields, packed):
    members = {"_fields_": [(name, C_TYPES[kind]) for name, kind in fields]}
    theirs = type("S", (ctypes.Structure,), {"_pack_": 1, **members} if packed else members)
    ours = struct(fields, align=not packed)
    assert ours.struct_bytes == ctypes.sizeof(theirs)
    assert list(ours.offsets) == [getattr(theirs, name).offset for name, _ in fields]


@pytest.mark.parametrize(
    ("name", "fields", "read"),
    [
        ("aos1/P", P, ["x"]),
        ("aos1/P3", P3, ["x"]),
        ("aos4/P", P, None),
        ("aos3/P3", P3, None),
    ],
)
def test_packed_records_in_numba_cost_what_the_h200_counted(name, fields, read):
    cost = Records(struct(fields, align=False), "aos", COUNT).traffic(read, bytewise=True)
    assert (cost.requests, cost.sectors) == (CASES[name]["ld_requests"], CASES[name]["ld_sectors"])
    # L1 holds the siblings of a block's 256 records, so L2 is asked for each sector once.
    assert cost.dram_bytes == 32 * CASES[name]["l2_read_sectors"]


def test_a_struct_of_arrays_costs_what_the_h200_counted():
    cost = Records(struct(P), "soa", COUNT).traffic()
    assert (cost.requests, cost.sectors) == (CASES["soa4"]["ld_requests"], CASES["soa4"]["ld_sectors"])
    assert cost.dram_bytes == 32 * CASES["soa4"]["l2_read_sectors"]


def test_aligned_records_cost_a_quarter_of_the_requests_of_packed_ones_as_measured():
    packed, aligned = (measured.bandwidth(f"aos1 {kind}")[f"aos1 {kind}"] for kind in ("packed", "align"))
    record = Records(struct(P), "aos", COUNT)
    assert record.traffic(["x"], bytewise=True).sectors / record.traffic(["x"]).sectors == 4
    assert packed.load_sectors / aligned.load_sectors == 4


@settings(deadline=None)
@given(
    FIELDS,
    st.booleans(),
    st.sampled_from(["aos", "soa", "aosoa"]),
    st.integers(1, 130),
    st.sampled_from([1, 8, 32, 64]),
    st.data(),
)
def test_traffic_is_what_counting_bytes_one_by_one_finds(fields, align, layout, count, tile, data):
    record = struct(fields, align=align)
    records = Records(record, layout, count, tile)
    read = data.draw(st.lists(st.sampled_from(record.names), min_size=1, unique=True))
    bytewise = not align
    cost = records.traffic(read, bytewise=bytewise)
    requests, sectors, everything = 0, 0, set()
    for name in read:
        size = record.field_bytes[record.index(name)]
        steps = range(size) if bytewise else [0]
        for start in range(0, count, 32):
            for step in steps:
                lanes = [int(records.addresses(name, i)) for i in range(start, min(start + 32, count))]
                touched = [a + step + b for a in lanes for b in range(1 if bytewise else size)]
                requests, sectors = requests + 1, sectors + len({byte // 32 for byte in touched})
                everything.update(touched)
    assert (cost.requests, cost.sectors) == (requests, sectors)
    assert cost.dram_bytes == 32 * len({byte // 32 for byte in everything})
    assert cost.useful_bytes == len(everything)  # no two fields share a byte


def test_one_field_is_cheap_in_arrays_and_all_fields_cost_the_same_everywhere():
    record = struct(P)
    one = {layout: Records(record, layout, COUNT).traffic(["x"]) for layout in ("aos", "soa", "aosoa")}
    assert [one[layout].sectors_per_request for layout in one] == [16, 4, 4]
    assert [one[layout].amplification for layout in one] == [4, 1, 1]
    every = {layout: Records(record, layout, COUNT).traffic() for layout in one}
    assert [every[layout].sectors_per_request for layout in one] == [16, 4, 4]
    assert len({every[layout].dram_bytes for layout in one}) == 1


def test_a_tile_of_eight_floats_already_fills_its_sectors_and_a_tile_of_one_is_an_array_of_structs():
    costs = [Records(struct(P), "aosoa", 1024, tile).traffic(["x"]).sectors_per_request for tile in (1, 2, 4, 8, 32)]
    assert costs == [16, 16, 8, 4, 4]
    index = np.arange(1024)
    assert np.array_equal(
        Records(struct(P), "aosoa", 1024, 1).addresses("z", index),
        Records(struct(P), "aos", 1024).addresses("z", index),
    )


# Tensors ----------------------------------------------------------------------------------------


@given(
    st.permutations(["a", "b", "c", "d"]),
    st.tuples(*[st.integers(1, 5)] * 4),
    st.sampled_from([1, 2, 4, 8]),
    st.data(),
)
def test_a_tensor_lies_where_numpy_puts_it(order, shape, element, data):
    sizes = dict(zip("abcd", shape, strict=True))
    array = np.empty([sizes[axis] for axis in order], f"u{element}")
    index = {axis: data.draw(st.integers(0, sizes[axis] - 1)) for axis in order}
    inside = array[tuple(index[axis] for axis in order)[:-1]][index[order[-1]] :]
    offset = inside.__array_interface__["data"][0] - array.__array_interface__["data"][0]
    assert Tensor(sizes, tuple(order), element).addresses(**index) == offset


def test_lanes_along_the_channels_are_contiguous_only_in_channels_last():
    sizes = {"n": 2, "c": 64, "h": 16, "w": 16}
    assert Tensor(sizes, NHWC).warp("c").sectors[0] == 4
    assert Tensor(sizes, NCHW).warp("c").sectors[0] == 32
    assert Tensor(sizes, NCHW).warp("w").sectors[0] == 2  # 16 lanes only
    assert str(Tensor(sizes, NHWC)) == (
        "A tensor [n, h, w, c]; sectors of one request: 2 along n, 16 along h, 16 along w, 4 along c."
    )


@pytest.mark.parametrize(("element", "worse"), [(1, 16), (2, 16), (4, 8)])
def test_a_kv_cache_with_the_tokens_last_costs_16_times_the_sectors_for_small_elements_and_8_for_floats(element, worse):
    sizes = {"blocks": 4, "tokens": 16, "heads": 8, "dim": 128}
    assert Tensor(sizes, KV_TOKENS_FIRST, element).amplification("dim") == 1
    assert Tensor(sizes, KV_DIM_FIRST, element).amplification("dim") == worse


def test_the_kv_read_measured_on_the_h200_costs_8_times_the_sectors():
    good, bad = (measured.bandwidth(f"kv mode{mode}")[f"kv mode{mode}"] for mode in (0, 1))
    sizes = {"blocks": 4, "tokens": 16, "heads": 8, "dim": 128}
    assert bad.load_sectors / good.load_sectors == Tensor(sizes, KV_DIM_FIRST, 4).amplification("dim")


def test_a_padded_row_starts_at_a_sector():
    assert padded_pitch(1001 * 4) == 4032 and padded_pitch(4032) == 4032 and padded_pitch(5, 128) == 128


def test_sentences_carry_their_numbers():
    record = struct({"x": "f4", "q": "f8", "flag": "i1"})
    assert str(record) == "A struct of 24 B (11 B of padding): x at 0, q at 8, flag at 16."
    assert str(Records(struct(P), "aos", 64).traffic(["x"])) == (
        "Fields x: 2 requests of 16 sectors, 1024 B at L1, 1024 B from DRAM for 256 useful bytes."
    )


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: struct({}), ValueError, "expected at least one field"),
        (lambda: struct([("x", "f4"), ("x", "f4")]), ValueError, "expected every name once"),
        (lambda: struct({"z": "c16"}), ValueError, "expected a number of 1, 2, 4 or 8 bytes"),
        (lambda: struct({"x": "f4"}).index("y"), KeyError, "no field 'y': expected one of x"),
        (lambda: Records(struct(P), "soap", 4), ValueError, 'expected "aos", "soa" or "aosoa"'),
        (lambda: Records(struct(P), "aos", 0), ValueError, "count is 0"),
        (lambda: Records(struct(P), "aos", 4).addresses("x", 4), IndexError, "expected 0 to 3"),
        (lambda: Records(struct(P), "aos", 4).addresses("x", 0.5), TypeError, "expected whole numbers"),
        (lambda: Records(struct(P), "aos", 4).traffic([]), ValueError, "expected at least one field"),
        (lambda: Tensor({"a": 2}, ("b",)), ValueError, "expected each of a once"),
        (lambda: Tensor({"a": 0}, ("a",)), ValueError, "expected 1 or more for every axis"),
        (lambda: Tensor({"a": 2}, ("a",), 3), ValueError, "expected 1, 2, 4, 8 or 16"),
        (lambda: Tensor({"a": 2}, ("a",)).addresses(a=2), IndexError, "a reaches from 2 to 2: expected 0 to 1"),
        (lambda: Tensor({"a": 2}, ("a",)).warp("b"), KeyError, "b"),
        (lambda: padded_pitch(0), ValueError, "expected 1 or more"),
    ],
)
def test_input_that_makes_no_sense_is_refused_with_the_reason(call, error, words):
    with pytest.raises(error, match=re.escape(words)):
        call()
