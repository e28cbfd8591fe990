"""What a person sees of a run: numbers that add up, a listing one can read, and honest words."""

from __future__ import annotations

import json
import math
import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from numba import cuda, float32

from course.models.coalescing import coalesce, lane_addresses
from course.profiling.comparison import compare
from course.profiling.profile import profile
from course.profiling.progress import Progress
from tests.support.clocks import Ticking

N = 1000


@cuda.jit
def strided(x, out, stride):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i * stride]


@cuda.jit
def doubled(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = 2.0 * x[i]


@cuda.jit
def column_of_a_tile(out):
    tile = cuda.shared.array((32, 32), float32)
    lane = cuda.threadIdx.x
    for row in range(32):
        tile[row, lane] = row
    cuda.syncthreads()
    out[lane] = tile[lane, 0]


@cuda.jit
def column_of_a_padded_tile(out):
    tile = cuda.shared.array((32, 33), float32)
    lane = cuda.threadIdx.x
    for row in range(32):
        tile[row, lane] = row
    cuda.syncthreads()
    out[lane] = tile[lane, 0]


@cuda.jit
def beyond_the_end(x, out):
    i = cuda.grid(1)
    out[i] = x[i]


@cuda.jit
def slow(out, rounds):
    i = cuda.grid(1)
    total = float32(0)
    for _ in range(rounds):
        total += float32(1)
    out[i] = total


@cuda.jit
def reversed_in_dynamic_shared(out):
    room = cuda.shared.array(0, float32)
    i = cuda.grid(1)
    room[i] = i
    cuda.syncthreads()
    out[i] = room[31 - i]


@cuda.jit(device=True)
def place_of(x, i):
    place = x[i]
    return place, place


@cuda.jit
def from_the_diagonal(x, table, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = table[place_of(x, i)]


@cuda.jit
def onto_the_diagonal(x, table):
    i = cuda.grid(1)
    if i < x.size:
        table[place_of(x, i)] += 1


def run_strided(stride=4, n=N, **options):
    x, out = np.arange(n * stride, dtype=np.float32), np.zeros(n, np.float32)
    result = profile(strided, -(-n // 128), 128, x, out, stride, **options)
    assert np.array_equal(out, x[::stride])
    return result


def site(result, kind, space="global"):
    (found,) = [c for c in result.sites if c.site.kind == kind and c.site.space == space]
    return found


def line_with(result, text):
    (found,) = [line for line in result.lines if text in line.text]
    return found


def test_the_counts_are_those_of_the_model():
    result = run_strided(stride=4)
    warps = -(-N // 32)
    active = np.arange(warps * 32).reshape(warps, 32) < N
    expected = coalesce(lane_addresses(4, warps=warps), 4, active)
    load = site(result, "load")
    assert load.instructions == expected.requests == 32
    assert load.sectors == expected.sectors.sum()
    assert load.requested_bytes == expected.requested_bytes.sum()
    assert load.transferred_bytes == expected.transferred_bytes.sum()
    assert load.efficiency == pytest.approx(expected.efficiency)


def test_totals_are_the_sums_of_the_sites():
    result = run_strided()
    assert result.requests == sum(c.instructions for c in result.sites)
    assert result.sectors == sum(c.sectors for c in result.sites)
    assert result.transferred_bytes == 32 * result.sectors
    assert result.efficiency == result.requested_bytes / result.transferred_bytes
    assert result.sectors_per_request == result.sectors / result.requests


def test_every_access_stands_under_its_own_source_line():
    result = run_strided()
    line = line_with(result, "out[i] = x[i * stride]")
    assert [(c.site.kind, c.site.text) for c in line.sites] == [("load", "x[i * stride]"), ("store", "out[i]")]
    assert line.executed.active_lanes == N


def test_metrics_have_nsight_computes_names_and_the_same_numbers():
    result = run_strided()
    metrics = result.metrics
    assert metrics["l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"] == site(result, "load").instructions
    assert metrics["l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"] == site(result, "store").sectors
    ratio = metrics["l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio"]
    assert ratio == site(result, "load").sectors_per_request


def test_a_conflict_is_told_with_its_degree_and_gone_with_the_pad():
    before = profile(column_of_a_tile, 1, 32, np.zeros(32, np.float32))
    after = profile(column_of_a_padded_tile, 1, 32, np.zeros(32, np.float32))
    assert site(before, "load", "shared").conflict_degree == 32
    assert "32-way conflict" in str(before) and "conflict" not in str(after).replace("bank conflicts", "")
    conflicts = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum"
    assert (before.metrics[conflicts], after.metrics[conflicts]) == (31, 0)
    rows = {name: (b, a) for name, b, a in before.diff(after).rows}
    assert rows["of these, from conflicts"] == (31, 0)
    assert "÷" in str(before.diff(after)) and "<table>" in before.diff(after)._repr_html_()


def test_dram_bytes_are_a_pair_that_the_first_touch_and_l1_bound():
    result = run_strided(stride=4, n=4096)
    assert result.dram.compulsory == 4096 * 16 + 4096 * 4
    assert result.dram.transferred == result.transferred_bytes
    # Stride 16 leaves every second 32-byte sector untouched; the H200 fetches blocks of 64 bytes all the same.
    sparse = run_strided(stride=16, n=4096)
    assert sparse.dram.compulsory == 4096 * 64 + 4096 * 4
    unmeasured = run_strided(stride=16, n=4096, dram_block_bytes=None)
    assert unmeasured.dram.compulsory == 4096 * 32 + 4096 * 4
    assert "a lower bound" in str(unmeasured)


def test_the_dram_pair_is_in_order_when_blocks_are_larger_than_the_sectors_used():
    # 1000 floats end in the middle of a 64-byte block, which DRAM delivers whole.
    result = run_strided(stride=1, n=1000)
    assert result.dram == (4032 + 4000, 4032 + 4000)


def test_flops_are_counted_by_precision_and_double_by_accident_is_a_finding():
    x = np.ones(64, np.float32)
    result = profile(doubled, 2, 32, x, np.zeros(64, np.float32))
    assert (result.flops.fp32, result.flops.fp64) == (0, 64)
    (finding,) = result.findings
    assert finding.kind == "accidental-fp64" and finding.line == line_with(result, "2.0 * x[i]").number
    wanted = profile(doubled, 2, 32, np.ones(64), np.zeros(64))
    assert wanted.flops.fp64 == 64 and wanted.findings == ()


def test_arithmetic_intensity_lies_between_both_ends_of_the_dram_pair():
    result = profile(doubled, 2, 32, np.ones(64, np.float32), np.zeros(64, np.float32))
    low, high = result.arithmetic_intensity
    assert low == 64 / result.dram.transferred and high == 64 / result.dram.compulsory and low <= high


def test_divergence_shows_as_missing_lanes():
    result = run_strided(n=1000)
    assert line_with(result, "if i < out.size").executed.threads_per_instruction == 32
    assert line_with(result, "out[i] = x").executed.threads_per_instruction == pytest.approx(1000 / 32)
    assert result.threads_per_instruction < 32
    assert re.search(r"^ 31\.2 .*out\[i\] = x", str(result), re.M)


def test_wavefronts_of_64_lanes_halve_the_requests():
    narrow, wide = run_strided(n=1024), run_strided(n=1024, warp_lanes=64)
    assert narrow.requests == 2 * wide.requests
    assert "warps of 64 lanes" in str(wide)


def test_a_finding_is_told_under_its_line_with_what_to_do():
    result = profile(beyond_the_end, 1, 64, np.ones(64, np.float32), np.zeros(50, np.float32))
    assert {f.kind for f in result.findings} == {"out-of-bounds"}
    text = str(result)
    assert text.index("out[i] = x[i]") < text.index("! out-of-bounds") < text.index("launch  ")
    assert result.findings[0].remedy.split()[0] in text


def test_the_text_listing_fits_a_terminal_of_110_columns():
    for result in (run_strided(), profile(beyond_the_end, 1, 64, np.ones(64, np.float32), np.zeros(50, np.float32))):
        listing = str(result).split("\nlaunch")[0]
        assert max(len(line) for line in listing.splitlines()) <= 111


def test_the_html_listing_is_well_formed_and_escapes_the_source():
    html = run_strided()._repr_html_()
    tree = ET.fromstring(html)
    assert "if i < out.size:" in "".join(tree.itertext())
    assert len(tree.findall(".//tr[@class='site']")) == 2


def test_a_launch_without_accesses_still_has_a_listing():
    @cuda.jit
    def idle():
        cuda.syncthreads()

    result = profile(idle, 1, 32)
    assert math.isnan(result.efficiency) and math.isnan(result.sectors_per_request)
    assert "findings" in str(result)


def test_past_its_time_budget_a_profile_samples_blocks_and_says_so():
    out = np.zeros(1 << 20, np.float32)
    # Four batches of 1024 blocks, a second each: the first foresees four seconds, and only the last one follows.
    result = profile(slow, 1 << 12, 256, out, 3, seconds=1.5, clock=Ticking())
    assert result.sampled and (result.blocks_run, result.blocks) == (2048, 4096)
    assert f"SAMPLED: {result.blocks_run:,} of {result.blocks:,} blocks ran" in str(result)
    assert "outputs are incomplete" in result._repr_html_()
    whole = run_strided()
    assert not whole.sampled and "SAMPLED" not in str(whole)


def test_compare_has_the_predictions_and_says_that_there_is_no_gpu():
    x = np.zeros(64, np.float32)
    result = compare(strided, 1, 64, x, x.copy(), 1)
    assert result.predicted["l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"] == 8
    assert str(result).count("no GPU here") == len(result.predicted)


def test_a_long_run_shows_a_bar_in_a_terminal_and_leaves_nothing_behind(monkeypatch, capsys):
    monkeypatch.setattr("course.profiling.progress._PATIENCE", 0.0)
    monkeypatch.setattr("course.profiling.progress._INTERVAL", 0.0)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    with Progress("scale") as tick:
        tick(1, 4)
        tick(2, 4)
    out, err = capsys.readouterr()
    assert "2 of 4 blocks" in out and out.endswith("\r\x1b[K") and err == ""


def test_a_short_run_shows_no_bar(monkeypatch, capsys):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    run_strided()
    assert capsys.readouterr() == ("", "")


def test_an_interrupt_leaves_the_arrays_as_they_were(monkeypatch):
    out = np.zeros(1 << 18, np.float32)

    def stop(self, done, total):
        raise KeyboardInterrupt

    monkeypatch.setattr(Progress, "__call__", stop)
    with pytest.raises(KeyboardInterrupt):
        profile(slow, 1 << 10, 256, out, 10)
    assert not out.any()


def test_a_dynamic_array_has_the_room_that_the_launch_gives_it_and_none_without():
    out = np.zeros(32, np.float32)
    assert profile(reversed_in_dynamic_shared, 1, 32, out, shared_bytes=128).findings == ()
    assert np.array_equal(out, np.arange(32)[::-1])
    findings = profile(reversed_in_dynamic_shared, 1, 32, out).findings
    assert {(f.kind, f.array) for f in findings} == {("out-of-bounds", "room")}


def test_a_tuple_of_a_device_function_is_evaluated_once_when_it_is_an_index():
    x, table, out = np.arange(32) % 4, np.arange(16.0).reshape(4, 4), np.zeros(32)
    read = profile(from_the_diagonal, 1, 32, x, table, out)
    assert np.array_equal(out, table[x, x])
    assert [c.instructions for c in read.sites if c.site.text == "x[i]"] == [1]
    square = np.zeros((32, 32))
    written = profile(onto_the_diagonal, 1, 32, np.arange(32), square)
    assert np.array_equal(square, np.eye(32))
    assert [c.instructions for c in written.sites if c.site.text == "x[i]"] == [1]


def test_asynchronous_copies_are_counted_as_an_h200_counts_them(root):
    from course.kernels.cp_async import arguments, with_copies

    measured = json.loads((root / "course/measured/h200_async_copies.json").read_text(encoding="utf-8"))["metrics"]
    predicted = profile(with_copies(64, 1, 2), 4, 64, *arguments(4, 8, 64)).metrics
    assert {name: predicted[name] for name in measured} == measured
