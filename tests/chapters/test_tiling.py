"""Chapter `tiling`: what its cells print, and every number and claim of its text, recomputed."""

from __future__ import annotations

import re

import numpy as np
import pytest

from course import measured
from course.kernels.tiling import tiled_matmul, tiled_transpose
from course.models import banks, tiling
from course.models.banks import Tile
from course.profiling.profile import profile
from tests.chapters.chapter_run import Ran

ONE_WARP = 32


@pytest.fixture(scope="module")
def ran() -> Ran:
    return Ran("tiling")


def lab(name: str) -> dict[str, float]:
    """First number of each line that a lab printed on the H200, by what stands before it."""
    found = {}
    for line in measured.lab(f"tiling/{name}").text.splitlines():
        title, number = re.match(r"(.*?[^\d\s.,].*?)\s{1,}([\d.,]+)(?= (?:µs|GB/s|of))", line).groups()  # type: ignore[union-attr]
        found[title.strip()] = float(number.replace(",", ""))
    return found


# The question and the predictions --------------------------------------------------------------------


def test_the_useless_column_makes_it_twice_as_fast(ran: Ran) -> None:
    lines = ran.printed["question-ratios"].splitlines()
    naive, tiled, padded = ([float(n) for n in re.findall(r": (\d+(?:\.\d+)?)", line)] for line in lines)
    assert naive[0] == 8 and tiled[0] == padded[0] == 1
    assert 1.9 <= tiled[1] / padded[1] <= 2.1
    assert "twice as fast" in ran.prose("question-asks")


def test_the_predictions_ask_for_what_the_text_says() -> None:
    assert [int(Tile(32, 32, pad).access("column").wavefronts[0]) for pad in (0, 1, 4)] == [32, 1, 4]
    addresses, exists = Tile(16, 16, 1).threads((16, 16))
    assert set(banks.wavefronts(addresses, 4, "store", exists).degree.tolist()) == {2}


# Explore ---------------------------------------------------------------------------------------------


def test_the_degree_of_a_stride_is_the_greatest_common_divisor(ran: Ran) -> None:
    rows = ran.rows("rule-strides")
    assert rows[0] == [0, 1, 1]  # a broadcast
    for stride, degree, divisor, used in rows[1:]:
        assert degree == divisor == np.gcd(int(stride), ONE_WARP)
        assert used == ONE_WARP / degree


def test_a_pad_of_one_costs_three_percent_and_a_pad_of_four_leaves_four_lanes_in_each_bank(ran: Ran) -> None:
    table = {int(row[0]): row for row in ran.rows("rule-pads")}
    assert [table[length][2] for length in range(32, 37)] == [32, 1, 2, 1, 4]
    assert {row[1] for row in table.values()} == {1}
    assert table[33][3] - table[32][3] == 128
    assert "3 %" in ran.prose("rule-pads-text") and Tile(32, 32, 1).pad_share == pytest.approx(0.03, abs=0.002)
    assert len({4 * row % 32 for row in range(32)}) == 8  # "after eight rows the banks start over"


def test_one_element_of_pad_is_right_for_every_size(ran: Ran) -> None:
    for row in ran.rows("rule-wide"):
        _, groups, along, down, padded = row
        assert along == padded == groups < down
    assert [row[1] for row in ran.rows("rule-wide")] == [1, 1, 2, 4]


def test_a_pad_makes_the_store_of_sixteen_worse_and_the_load_better(ran: Ran) -> None:
    plain, padded = (line.split()[-2:] for line in ran.printed["rule-sixteen"].splitlines()[1:])
    assert plain == ["1", "8"] and padded == ["2", "2"]


def test_the_naive_product_moves_eight_bytes_for_two_flop(ran: Ran) -> None:
    assert ran.printed["reuse-naive"] == "naive: 8.0 bytes for each multiply-add, 0.25 FLOP per byte\n"
    for side in (8, 16, 32):
        assert tiling.bytes_per_fma(side) == 8 / side
        assert tiling.arithmetic_intensity(side) == side / 4


def test_a_larger_tile_has_more_reuse_and_leaves_fewer_warps(ran: Ran) -> None:
    assert [row[1] for row in ran.rows("reuse-sweep")] == [2, 4, 8]
    sweep = tiling.tile_sweep("a100-80gb", (8, 16, 32), registers_per_thread=40)
    assert sweep.occupancy.occupancy[2] < sweep.occupancy.occupancy[1]


# Transposes ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("tile", "pad", "rows"), [(32, 0, 8), (32, 1, 8), (32, 4, 8), (16, 1, 16), (8, 1, 8)])
def test_a_tiled_transpose_is_right_and_costs_what_the_model_says(tile: int, pad: int, rows: int) -> None:
    a, out = np.random.default_rng(0).random((64, 96), np.float32), np.full((96, 64), np.nan, np.float32)
    seen = profile(tiled_transpose(tile, pad, rows), (96 // tile, 64 // tile), (tile, rows), a, out)
    model = tiling.transpose(64, 96, tile=tile, pad=pad, block_rows=rows)
    assert np.array_equal(out, a.T)
    assert seen.findings == ()
    assert seen.total("shared", "wavefronts", "store") == model.shared_store_wavefronts
    assert seen.total("shared", "wavefronts", "load") == model.shared_load_wavefronts
    assert seen.total("global", "sectors", "load") == model.load_sectors


def test_the_kernel_that_the_chapter_shows_is_the_one_that_the_factory_makes(ran: Ran) -> None:
    before, factory = ran.space["before"], tiled_transpose(32, 0, 8)
    a, out = np.ones((128, 128), np.float32), np.zeros((128, 128), np.float32)
    assert profile(factory, (4, 4), (32, 8), a, out).metrics == before.metrics


def test_the_three_transposes_have_the_counts_that_the_text_names(ran: Ran) -> None:
    naive, tiled, padded, four = (line.split()[1:] for line in ran.printed["transpose-table"].splitlines()[1:])
    assert naive == ["4", "32", "0", "0"]
    assert [row[:2] for row in (tiled, padded, four)] == [["4", "4"]] * 3
    requests = int(padded[2]) // 2
    assert int(tiled[3]) == 31 * requests and int(padded[3]) == 0 and int(four[3]) == 3 * requests


def test_a_thread_of_the_transpose_moves_four_elements(ran: Ran) -> None:
    assert "each thread moves four elements" in ran.prose("transpose-tiled-text")
    assert 32 * 32 // (32 * 8) == 4


# Barriers --------------------------------------------------------------------------------------------


def test_the_first_barrier_is_missing_then_divergent_then_right(ran: Ran) -> None:
    kinds = [{f.kind for f in ran.value[name].findings} for name in ("barrier-none", "barrier-divergent")]
    assert kinds == [{"shared-race"}, {"divergent-barrier"}]
    assert "the first results are right: True" in ran.printed["barrier-none"]
    assert ran.printed["barrier-right"] == "findings: []\n"


def test_the_second_barrier_is_missing_although_the_result_is_right(ran: Ran) -> None:
    found = ran.value["matmul-race"]
    assert {f.kind for f in found.findings} == {"shared-race", "missing-syncwarp"}
    a, b = (np.random.default_rng(9).random((64, 64), np.float32) for _ in range(2))
    c = np.zeros((64, 64), np.float32)
    profile(ran.space["matmul_almost"], (4, 4), (16, 16), a, b, c)
    assert np.allclose(c, a @ b)


@pytest.mark.parametrize("name", ["turn-gpu", "race-gpu"])
def test_the_h200_got_wrong_results_from_both_races_and_other_ones_each_time(name: str) -> None:
    runs = {title: wrong for title, wrong in lab(name).items() if title.startswith("run")}
    assert len(runs) == 3 and len(set(runs.values())) == 3
    assert min(runs.values()) > 1000


# Products --------------------------------------------------------------------------------------------


def test_staging_needs_a_sixteenth_of_the_requests_and_an_eighth_of_the_sectors(ran: Ran) -> None:
    naive, tiled = ran.space["naive"], ran.space["tiled"]
    loads = [[seen.total("global", name, "load") for name in ("instructions", "sectors")] for seen in (naive, tiled)]
    assert [before / after for before, after in zip(*loads, strict=True)] == [16, 8]
    assert naive.flops == tiled.flops and naive.efficiency > 1
    assert ran.printed["matmul-naive"] == "right: True\n"
    assert "right: True   findings: []" in ran.printed["matmul-diff"]


def test_twice_the_tile_is_half_the_sectors_and_only_the_pad_of_sixteen_conflicts(ran: Ran) -> None:
    table = {(int(tile), int(pad)): rest for tile, pad, *rest in ran.rows("matmul-sweep")}
    assert table[8, 0][0] == 2 * table[16, 0][0] == 4 * table[32, 0][0]
    assert {key for key, row in table.items() if row[2] > 0} == {(16, 1)}
    assert [table[tile, 0][3] for tile in (8, 16, 32)] == [2, 4, 8]


@pytest.mark.parametrize(("tile", "pad"), [(16, 0), (16, 1), (32, 0)])
def test_a_tiled_product_costs_what_the_model_says(tile: int, pad: int) -> None:
    a = np.ones((64, 64), np.float32)
    seen = profile(tiled_matmul(tile, pad, np.float32), (64 // tile, 64 // tile), (tile, tile), a, a, a.copy())
    model = tiling.matmul(64, tile, pad)
    assert seen.total("shared", "wavefronts", "store") == model.shared_store_wavefronts
    assert seen.total("shared", "wavefronts", "load") == model.shared_load_wavefronts
    assert seen.total("global", "sectors", "load") == model.global_load_sectors


# Histogram and sums ----------------------------------------------------------------------------------


def test_counting_in_shared_memory_leaves_few_global_atomics(ran: Ran) -> None:
    everywhere, shared = (line.split() for line in ran.printed["histogram-run"].splitlines()[1:])
    assert everywhere[1] == shared[1] == "True"
    assert int(everywhere[2]) == int(shared[4]) == (1 << 14) // 32
    assert int(shared[2]) == 8 * 64 // 32


def test_the_sequential_sum_needs_less_than_a_third(ran: Ran) -> None:
    rows = {line.split()[0]: line.split()[1:] for line in ran.printed["sum-run"].splitlines()[1:]}
    assert {row[0] for row in rows.values()} == {"True"}
    requests, passes = ({name: int(row[n]) for name, row in rows.items()} for n in (1, 2))
    assert requests["sum_divergent"] == passes["sum_divergent"] == passes["sum_interleaved"]
    assert requests["sum_interleaved"] == requests["sum_sequential"] == passes["sum_sequential"]
    assert 3 * requests["sum_sequential"] < requests["sum_divergent"]
    assert float(rows["sum_divergent"][3]) < float(rows["sum_sequential"][3])


def test_staging_for_nothing_adds_shared_wavefronts_and_saves_no_sector(ran: Ran) -> None:
    rows = {name: (b, a) for name, b, a in ran.value["no-gain-run"].rows}
    assert rows["global load sectors"][0] == rows["global load sectors"][1]
    assert rows["shared wavefronts"] == (0, 2 * 4096 / 32)
    direct, staged = lab("no-gain-time").values()
    assert 0.9 < staged / direct < 1


# Silicon ---------------------------------------------------------------------------------------------


def test_the_h200_counted_every_wavefront_that_the_model_predicts(ran: Ran) -> None:
    assert " but " not in ran.printed["silicon-strides"]
    assert ran.printed["silicon-strides"].count(" = ") == 9 * 5
    for line in ran.printed["silicon-transposes"].splitlines()[1:]:
        stores, seen_stores, loads, seen_loads = line.split()[-4:]
        assert (stores, loads) == (seen_stores, seen_loads)


def test_the_pad_doubles_the_stores_and_stops_the_merging(ran: Ran) -> None:
    rows = [[int(n) for n in line.split()[-4:]] for line in ran.printed["silicon-products"].splitlines()[1:]]
    assert [row[0] for row in rows] == [row[1] for row in rows]
    assert rows[1][0] == 2 * rows[0][0]
    written, merged = rows[0][2:]
    assert merged == written * (1 / 4 + 1) / 2  # loads along rows of a four at a time, those of b one by one
    assert all(row[2] == row[3] for row in rows[1:])


def test_the_conflict_hides_and_the_tile_of_sixteen_is_slow(ran: Ran) -> None:
    times = {t.name: t.time_us for t in ran.value["silicon-times"].timings}
    assert times["tr T32+4 rows8"] / times["tr T32+1 rows8"] == pytest.approx(1, abs=0.02)
    assert times["tr T32+0 rows8"] > 2 * times["tr T32+1 rows8"]
    assert times["tr T16+1 rows16"] > 1.5 * times["tr T32+1 rows8"]
    assert max(times["tr T32+1 rows4"], times["tr T64+1 rows8"]) < min(times["copy f4"], times["tr T32+1 rows8"])
    requests = 2 * 16384**2 / 32
    for name in ("tr T32+1 rows8", "tr T32+1 rows4", "tr T64+1 rows8"):
        assert 0.015 < measured.bandwidth(name).timings[0].shared_conflicts / requests < 0.025


def test_the_products_of_the_h200_are_as_fast_as_the_text_says() -> None:
    times = lab("matmul-time")
    naive, eight, sixteen, sixteen_padded, large, large_padded = times.values()
    assert naive > 3 * eight
    assert naive / sixteen == pytest.approx(6, abs=0.25)
    assert sixteen / large == pytest.approx(1, abs=0.02)
    assert 1 - sixteen / sixteen_padded == pytest.approx(0.2, abs=0.03)
    assert 1 - large / large_padded == pytest.approx(0.75, abs=0.02)


def test_the_histograms_and_sums_of_the_h200_are_as_the_text_says() -> None:
    everywhere, shared, equal, shared_equal = lab("histogram-time").values()
    assert 150 < everywhere / shared < 250
    assert equal > 2 * everywhere
    assert shared_equal == pytest.approx(shared, rel=0.02)
    divergent, interleaved, sequential = lab("sum-time").values()
    assert divergent > 1.5 * sequential
    assert interleaved < 1.1 * sequential


# Go further ------------------------------------------------------------------------------------------


def test_in_a_tile_of_eight_the_pad_is_worse_than_none(ran: Ran) -> None:
    table = {line.split()[0]: [float(n) for n in line.split()[1:]] for line in ran.printed["sweep"].splitlines()[1:]}
    assert {row[0] for row in table.values()} == {4}
    assert table["[8][9]"][1] > table["[8][8]"][1] > 0
    assert table["[16][17]"][1] < table["[16][16]"][1]
    assert [name for name, row in table.items() if row[1] == 0] == ["[32][33]"]


def test_a_tile_of_eight_needs_twice_the_sectors_when_rows_start_badly_and_a_tile_of_32_a_quarter_more() -> None:
    for tile, rows, more in ((8, 8, 2), (32, 8, 1.25)):
        good, bad = (tiling.transpose(128, columns, tile=tile, pad=1, block_rows=rows) for columns in (128, 132))
        starts_well = good.load_sectors / good.load_requests
        whole = 128 * (128 // tile) * (tile * 4 // 32)
        assert starts_well == 4 and good.load_sectors == whole
        assert bad.load_sectors / bad.load_requests <= more * 4


def test_a_swizzle_has_no_conflict_in_rows_or_columns() -> None:
    lane = np.arange(32)
    for fixed in range(32):
        row, column = 32 * fixed + (lane ^ fixed), 32 * lane + (fixed ^ lane)
        assert banks.conflict_degree(np.stack([row, column])).tolist() == [1, 1]


def test_the_pad_works_on_amd_in_the_model(ran: Ran) -> None:
    degrees = [int(line.split()[-1]) for line in ran.printed["amd"].splitlines()]
    assert degrees[0] == 32 and degrees[1] == degrees[3] == 1 < degrees[2]


def test_every_measurement_that_the_chapter_shows_was_recorded(ran: Ran) -> None:
    shown = {
        name for cell in ran.notebook.cells for name in re.findall(r'measured\.lab\("tiling/([\w-]+)"\)', cell.source)
    }
    assert len(shown) >= 5
    cells = {cell.id: cell.source for cell in ran.notebook.cells}
    for name in shown:
        assert "time_on_gpu(" in cells[name] or "compare(" in cells[name]
        assert measured.lab(f"tiling/{name}").text
