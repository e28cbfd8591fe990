"""course.simulator.counting.counters on accesses built by hand: against Python sets, and against an H200's counters."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course.simulator.access import Access, ArrayInfo, Batch, Instruction, Launch, Site
from course.simulator.counting import counters as counters_module
from course.simulator.counting import lane_kernels, lane_rules
from course.simulator.counting.counters import Counters
from course.simulator.observers import warm_up
from course.simulator.rows import Masks
from course.simulator.twins import Twins
from tests.models.test_banks import by_hand

MEASURED = {
    c["name"]: c
    for c in json.loads((Path(__file__).parents[3] / "course/measured/h200_counters.json").read_text())["cases"]
}
N = 1 << 16
BASE = 4096


def launch_of(sites: list[Site], grid: tuple[int, int, int], block: tuple[int, int, int], lanes: int = 32) -> Launch:
    x = ArrayInfo("x", "global", BASE, 1 << 20, np.dtype("f4"), (1 << 18,))
    return Launch("k", "f", (), 1, grid, block, lanes, tuple(sites), (x,), 49152)


def site_of(space: Any = "global", kind: Any = "load", index: int = 0) -> Site:
    return Site(index, index + 1, 0, "x[i]", space, kind, "x", "k")


def count(
    addresses: np.ndarray, size: int = 4, mask: np.ndarray | None = None, *, shape: Any = None, space: Any = "global",
    kind: Any = "load", lanes: int = 32,
) -> Counters:  # fmt: skip
    """One access, counted."""
    site = site_of(space, kind)
    shape = shape or addresses.shape
    counters = Counters(64)
    counters.begin(launch_of([site], (shape[2], shape[1], shape[0]), (shape[3], 1, 1), lanes))
    counters.batch(Batch((0, 0, 0), shape, None))
    counters.access(Access(site, size, addresses, mask, shape, lanes, (0, 0, 0), 0))
    counters.end()
    return counters


@pytest.fixture(params=[lane_rules, lane_kernels], ids=["numpy", "compiled"])
def rules(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.setattr(counters_module, "COUNTING", Twins(request.param, "no.such.module"))
    return request.param


def one_lane_per_element(block: int = 256) -> np.ndarray:
    return np.arange(N).reshape(1, 1, -1, block)


@pytest.mark.parametrize("name", [n for n in MEASURED if n.split("/")[0] in ("ld", "st")])
def test_strided_accesses_cost_what_the_h200_counted(name: str) -> None:
    kind, dtype, stride, offset = name.split("/")
    item = np.dtype(dtype).itemsize
    pieces = 2 if dtype.startswith("complex") else 1  # one element is two accesses
    size = item // pieces
    strided = one_lane_per_element() * int(stride[1:]) + int(offset[1:])
    for side, indices in ((kind, strided), ("st" if kind == "ld" else "ld", one_lane_per_element())):
        one = [count(BASE + indices * item + piece * size, size).sites[0] for piece in range(pieces)]
        assert sum(s.instructions for s in one) == MEASURED[name][f"{side}_requests"]
        assert sum(s.sectors for s in one) == MEASURED[name][f"{side}_sectors"]


@pytest.mark.parametrize("name", [n for n in MEASURED if n.startswith(("masked", "tail", "view"))])
def test_masked_ragged_and_shifted_accesses_cost_what_the_h200_counted(name: str, rules: ModuleType) -> None:
    kind, *numbers = name.split("/")
    i, shift = one_lane_per_element(), 0
    if kind == "masked":
        m, r = (int(n[1:]) for n in numbers)
        mask = i % m == r
    elif kind == "tail":
        mask = i < int(numbers[0])
    else:
        mask, shift = i < N - 64, int(numbers[0])
    load = count(BASE + 4 * (i + shift), 4, mask).sites[0]
    store = count(BASE + 4 * i, 4, mask, kind="store").sites[0]
    assert (load.instructions, load.sectors) == (MEASURED[name]["ld_requests"], MEASURED[name]["ld_sectors"])
    assert (store.instructions, store.sectors) == (MEASURED[name]["st_requests"], MEASURED[name]["st_sectors"])


@pytest.mark.parametrize("name", [n for n in MEASURED if n.startswith("copy2d")])
def test_two_dimensional_blocks_cost_what_the_h200_counted(name: str, rules: ModuleType) -> None:
    kind, block = name.split("/")
    bx, by = (int(n) for n in block.split("x"))
    gx, gy = -(-256 // bx), -(-256 // by)
    lane = np.arange(-(-bx * by // 32) * 32)
    x = np.arange(gx)[:, np.newaxis] * bx + lane % bx
    y = np.arange(gy)[:, np.newaxis, np.newaxis] * by + lane // bx
    mask = (x < 256) & (y < 256) & (lane < bx * by)
    index = (x * 256 + y if kind == "copy2d_bad" else y * 256 + x)[np.newaxis]
    cost = count(BASE + 4 * np.where(mask, index, -1), 4, mask[np.newaxis]).sites[0]
    assert (cost.instructions, cost.sectors) == (MEASURED[name]["ld_requests"], MEASURED[name]["ld_sectors"])


@pytest.mark.parametrize(
    "name, record, fields", [("aos1/P", 16, 1), ("aos1/P3", 12, 1), ("aos4/P", 16, 4), ("aos3/P3", 12, 3)]
)
def test_packed_record_fields_are_loaded_byte_by_byte_as_on_the_h200(name: str, record: int, fields: int) -> None:
    loads = [count(BASE + one_lane_per_element() * record + byte, 1).sites[0] for byte in range(4 * fields)]
    assert sum(s.instructions for s in loads) == MEASURED[name]["ld_requests"]
    assert sum(s.sectors for s in loads) == MEASURED[name]["ld_sectors"]


def test_a_reversed_index_and_broadcasts_cost_what_the_h200_counted(rules: ModuleType) -> None:
    i = one_lane_per_element()
    reverse = count(BASE + 4 * (N - 1 - i)).sites[0]
    assert reverse.sectors + N // 8 == MEASURED["gather/reverse"]["ld_sectors"]  # N // 8: the index array
    for name, index in (("bcast", i // 256), ("grp8", i // 8)):
        assert count(BASE + 4 * index).sites[0].sectors == MEASURED[name]["ld_sectors"]


def brute(addresses: np.ndarray, mask: np.ndarray, lanes: int, size: int) -> dict[str, int]:
    out = {"instructions": 0, "active_lanes": 0, "sectors": 0, "lines": 0}
    for row, on in zip(addresses.reshape(-1, lanes).tolist(), mask.reshape(-1, lanes).tolist(), strict=True):
        used = [a for a, active in zip(row, on, strict=True) if active]
        out["instructions"] += bool(used)
        out["active_lanes"] += len(used)
        out["sectors"] += len({a // 32 for a in used})
        out["lines"] += len({a // 128 for a in used})
    return out | {"requested_bytes": size * out["active_lanes"]}


def draw_batch(data: st.DataObject, top: int) -> tuple[Any, np.ndarray, np.ndarray | None, int]:
    """A batch whose addresses and mask vary along some axes only."""
    lanes = data.draw(st.sampled_from([32, 32, 64]))
    shape = (data.draw(st.integers(1, 2)), data.draw(st.integers(1, 3)), data.draw(st.integers(1, 5)), lanes * 2)
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))

    def axes() -> tuple[int, ...]:
        return tuple(n if data.draw(st.booleans()) else 1 for n in shape)

    a = axes()
    step = data.draw(st.sampled_from([0, 1, -1, 2, 7, 8, 9, 40]))
    regular = 40 * 64 + np.arange(a[3]) * step + rng.integers(0, 50, (*a[:3], 1))
    index = regular if data.draw(st.booleans()) else rng.integers(0, top, a)
    density = data.draw(st.sampled_from([None, 0.02, 0.5, 0.97]))
    mask = None if density is None else rng.random(axes()) < density
    return shape, index, mask, lanes


@settings(deadline=None, max_examples=80)
@given(st.data())
def test_global_counts_equal_python_sets_whatever_is_broadcast(data: st.DataObject) -> None:
    shape, index, mask, lanes = draw_batch(data, 200)
    size = data.draw(st.sampled_from([1, 4, 8]))
    addresses = BASE + size * index
    full = np.broadcast_to(addresses, shape)
    on = np.broadcast_to(True if mask is None else mask, shape)
    expected = brute(full, on, lanes, size)
    touched = {a // 64 for a in full[on].tolist()}
    for module in (lane_rules, lane_kernels):
        counters_module.COUNTING, kept = Twins(module, "no.such.module"), counters_module.COUNTING
        try:
            counters = count(addresses, size, mask, shape=shape, lanes=lanes)
        finally:
            counters_module.COUNTING = kept
        got = counters.sites[0]
        assert {name: getattr(got, name) for name in expected} == expected
        compulsory = 64 * len(touched)
        assert counters.dram == (compulsory, max(compulsory, 32 * expected["sectors"]))
        for request in got.samples:
            assert request.active.any()


@settings(deadline=None, max_examples=80)
@given(st.data())
def test_shared_counts_equal_python_sets_whatever_is_broadcast(data: st.DataObject) -> None:
    shape, index, mask, lanes = draw_batch(data, 300)
    size = data.draw(st.sampled_from([1, 2, 4, 8, 16]))
    kind = data.draw(st.sampled_from(["load", "store", "atomic"]))
    addresses = size * index
    full = np.broadcast_to(addresses, shape).reshape(-1, lanes).tolist()
    on = np.broadcast_to(True if mask is None else mask, shape).reshape(-1, lanes).tolist()
    each = [by_hand(a, size, kind == "load", m) for a, m in zip(full, on, strict=True)]
    for module in (lane_rules, lane_kernels):
        counters_module.COUNTING, kept = Twins(module, "no.such.module"), counters_module.COUNTING
        try:
            got = count(addresses, size, mask, shape=shape, lanes=lanes, space="shared", kind=kind).sites[0]
        finally:
            counters_module.COUNTING = kept
        assert (got.wavefronts, got.ideal_wavefronts) == (sum(e[0] for e in each), sum(e[1] for e in each))
        assert got.conflict_degree == max(e[2] for e in each)
        assert got.instructions == sum(map(any, on))


def test_loads_stores_and_atomics_are_kept_apart() -> None:
    sites = [site_of("global", kind, n) for n, kind in enumerate(("load", "store", "atomic"))]
    counters = Counters()
    counters.begin(launch_of(sites, (1, 1, 1), (32, 1, 1)))
    address = (BASE + 4 * np.arange(32)).reshape(1, 1, 1, 32)
    for times, site in enumerate(sites, 1):
        for _ in range(times):
            counters.access(Access(site, 4, address, None, (1, 1, 1, 32), 32, (0, 0, 0), 0))
    assert [counters.total("global", kind, "sectors") for kind in ("load", "store", "atomic")] == [4, 8, 12]
    assert counters.dram == (128 + 128, 32 * 24)  # read once by loads and atomics, written once


def test_dram_reads_are_counted_in_the_blocks_of_the_card() -> None:
    every_16th = (BASE + 64 * np.arange(256)).reshape(1, 1, 1, 256)
    for block, expected in ((None, 32 * 256), (32, 32 * 256), (64, 64 * 256), (128, 128 * 128)):
        counters = Counters(block)
        counters.begin(launch_of([site_of()], (1, 1, 1), (256, 1, 1)))
        counters.access(Access(site_of(), 4, every_16th, None, (1, 1, 1, 256), 32, (0, 0, 0), 0))
        assert counters.dram.compulsory == expected
    with pytest.raises(ValueError, match="expected 32, 64, 128, or None"):
        Counters(48)


@pytest.mark.parametrize(
    "stride, megabytes",
    [(1, 67), (2, 134), (3, 201), (4, 268), (5, 336), (6, 403), (7, 470), (8, 537), (12, 805), (16, 1074),
     (24, 1074), (32, 1074), (48, 1074), (64, 1074)],
)  # fmt: skip
def test_dram_reads_of_a_stride_are_what_the_h200_counted(stride: int, megabytes: int) -> None:
    """H200, driver 580.159: 2**24 threads read one float each, `stride` floats apart; DRAM bytes read, rounded."""
    lanes = 1 << 14
    addresses = (BASE + 4 * stride * np.arange(lanes)).reshape(1, 1, -1, 256)
    counters = Counters(64)
    one = launch_of([site_of()], (lanes // 256, 1, 1), (256, 1, 1))
    array = replace(one.arrays[0], nbytes=4 * stride * lanes)
    counters.begin(replace(one, arrays=(array,)))
    counters.access(Access(site_of(), 4, addresses, None, addresses.shape, 32, (0, 0, 0), 0))
    assert round(counters.dram.compulsory * (1 << 24) / lanes / 1e6) == megabytes


def test_a_divergent_line_has_fewer_threads_per_instruction_and_counts_its_flops() -> None:
    counters = Counters()
    counters.begin(launch_of([], (4, 1, 1), (64, 1, 1)))
    shape = (1, 1, 4, 64)
    few = np.arange(64).reshape(1, 1, 1, 64) % 4 == 0
    first_warps = np.arange(64).reshape(1, 1, 1, 64) < 32
    counters.instruction(Instruction(7, None, shape, 0, 2, 0))
    counters.instruction(Instruction(8, few, shape, 0, 0, 1))
    counters.instruction(Instruction(9, first_warps, shape, 3, 0, 0))
    assert [counters.lines[n].threads_per_instruction for n in (7, 8, 9)] == [32, 8, 32]
    assert [counters.lines[n].instructions for n in (7, 8, 9)] == [8, 8, 4]
    assert (counters.lines[7].flops32, counters.lines[8].flops64, counters.lines[9].flops16) == (512, 64, 384)


def test_a_few_requests_are_kept_for_pictures() -> None:
    site = site_of()
    counters = Counters()
    counters.begin(launch_of([site], (1, 1, 1), (64, 1, 1)))
    mask = np.arange(64).reshape(1, 1, 1, 64) >= 40
    for n in range(100):
        address = (BASE + 4 * np.arange(64) + 256 * n).reshape(1, 1, 1, 64)
        counters.access(Access(site, 4, address, mask, (1, 1, 1, 64), 32, (0, 0, 0), 0))
    samples = counters.sites[0].samples
    assert 0 < len(samples) <= counters_module.SAMPLES
    assert samples[1].addresses[0] == BASE + 128 + 256 and samples[0].active.tolist() == mask[0, 0, 0, 32:].tolist()


def test_local_accesses_are_counted_without_sectors() -> None:
    counts = count(np.zeros((1, 1, 1, 64), np.int64), 8, shape=(1, 1, 3, 64), space="local").sites[0]
    assert (counts.instructions, counts.requested_bytes, counts.sectors) == (6, 3 * 64 * 8, 0)


def test_masks_are_read_once_and_forgotten_in_time() -> None:
    masks = Masks(capacity=2)
    shape = (1, 1, 2, 32)
    made = [np.arange(64).reshape(1, 1, 2, 32) < n for n in (3, 40, 50)]
    first = masks.rows(made[0], shape, 32)
    assert masks.rows(made[0], shape, 32) is first
    assert masks.rows(made[1], shape, 32).totals == (2, 40)
    masks.rows(made[2], shape, 32)
    assert masks.rows(made[0], shape, 32) is not first


def test_the_compiled_rules_are_loaded_once_numpy_has_worked_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("course.simulator.twins.PATIENCE", -1.0)
    twins = Twins(lane_rules, "course.simulator.counting.lane_kernels")
    arguments = one_shared_access()
    assert not twins.is_compiled
    twins.call("count_shared", *arguments)
    assert twins.is_compiled
    missing = Twins(lane_rules, "no.such.module")
    missing.call("count_shared", *arguments)  # falls back for good
    missing.call("count_shared", *arguments)
    assert not missing.is_compiled
    assert arguments[-1].tolist() == [3, 96, 3, 3, 1]

    def nowhere(name: str) -> ModuleType:
        raise RuntimeError("cannot cache function 'count_global': no locator available for file 'lane_kernels.py'")

    homeless = Twins(lane_rules, "course.simulator.counting.lane_kernels")
    monkeypatch.setattr("importlib.import_module", nowhere)
    assert not homeless.load()
    arguments = one_shared_access()
    homeless.call("count_shared", *arguments)
    assert arguments[-1].tolist() == [1, 32, 1, 1, 1]


def test_set_up_can_compile_everything_ahead() -> None:
    assert warm_up()


def one_shared_access() -> tuple[Any, ...]:
    return (
        (4 * np.arange(32, dtype=np.int64)).reshape(1, 32), np.ones((1, 32), bool), np.array([[32]]),
        np.array([[0, 0, 1]]), 4, True, np.zeros(5, np.int64),
    )  # fmt: skip


def test_a_new_launch_starts_from_zero() -> None:
    counters = count(BASE + 4 * one_lane_per_element())
    counters.begin(replace(launch_of([site_of()], (1, 1, 1), (32, 1, 1)), kernel="second"))
    assert counters.sites[0].instructions == 0 and counters.dram == (0, 0)
