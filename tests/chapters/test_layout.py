"""Chapter `layout`: what its cells print, and every number and claim of its text, recomputed."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from course import cuda, measured
from course.checks import find
from course.kernels.layout import cache_fill, cache_scores
from course.models.coalescing import coalesce, lane_addresses
from course.models.layout import KV_DIM_FIRST, KV_TOKENS_FIRST, Records, Tensor, padded_pitch, struct
from course.profiling.profile import Profile, profile
from tests.chapters.chapter_run import Ran

PARTICLE = struct(dict.fromkeys("xyzw", "f4"))


@pytest.fixture(scope="module")
def ran() -> Ran:
    return Ran("layout")


def per_request(seen: Profile, kind: Any) -> float:
    return seen.total("global", "sectors", kind) / seen.total("global", "instructions", kind)


# The question -----------------------------------------------------------------------------------------


def test_the_puzzle_is_there_one_float_costs_as_much_as_four(ran: Ran) -> None:
    aos1, soa1, aos4, soa4 = ran.value["question-measured"].timings
    assert aos4.time_us <= aos1.time_us
    assert aos1.time_us > 1.4 * soa1.time_us
    assert abs(aos4.time_us / soa4.time_us - 1) < 0.06
    assert ran.numbers("question-factors")[1:] == [[1.47, 4], [0.97, 1]]
    assert 1e6 * aos4.dram_read_mb == pytest.approx(16 * 2**25, rel=0.01)


# Explore ----------------------------------------------------------------------------------------------


def test_the_table_of_layouts_says_what_the_text_reads_from_it(ran: Ran) -> None:
    rows = {tuple(line.split()[:2]): line.split()[2:] for line in ran.lines("rule-table")[1:]}
    assert [rows["aos", fields][1] for fields in ("x", "x+y", "x+y+z+w")] == ["16"] * 3
    assert len({rows["aos", fields][3] for fields in ("x", "x+y", "x+y+z+w")}) == 1
    assert [rows["aos", fields][4] for fields in ("x", "x+y", "x+y+z+w")] == ["4", "2", "1"]
    assert all(rows[layout, "x+y+z+w"][3:] == rows["aos", "x+y+z+w"][3:] for layout in ("soa", "aosoa"))


def test_records_here_and_there_are_four_times_better_as_structs(ran: Ran) -> None:
    aos, soa = ran.numbers("gathered")
    assert aos == [32, 32, 32, 32, 32]
    assert soa == [32, 32, 32, 32, 4 * 32]


def test_a_tile_is_wide_enough_once_a_field_fills_a_sector(ran: Ran) -> None:
    rows = ran.numbers("tile-widths")[1:]
    for size, (_, *costs) in zip((8, 4, 2, 1), rows, strict=True):
        widths = (1, 2, 4, 8, 16, 32)
        best = Records(struct(dict.fromkeys("abcd", f"{'f' if size > 2 else 'u'}{size}")), "soa", 1024).traffic(["a"])
        assert costs[-1] == best.sectors_per_request
        assert widths[costs.index(costs[-1])] == 32 // size


def test_lanes_should_go_along_the_axis_that_counts_fastest(ran: Ran) -> None:
    assert [numbers[-1] for numbers in ran.numbers("matrix")] == [4, 32, 32, 4]
    nchw, nhwc = ran.lines("images")
    assert "32 along c" in nchw and "4 along w" in nchw
    assert "4 along c" in nhwc and "32 along w" in nhwc


def test_an_array_of_structs_is_a_table_in_row_major_order() -> None:
    records, rows = np.arange(40).reshape(10, 4), Tensor({"row": 10, "column": 4}, ("row", "column"))
    for layout, order in (("aos", ("row", "column")), ("soa", ("column", "row"))):
        table = Tensor(rows.sizes, order)
        for number, name in enumerate(PARTICLE.names):
            places = Records(PARTICLE, layout, 10).addresses(name, np.arange(10))  # type: ignore[arg-type]
            wanted = table.addresses(row=np.arange(10), column=number)
            assert np.array_equal(np.diff(places), np.diff(wanted))
    assert records.ravel(order="F")[:10].tolist() == records[:, 0].tolist()


def test_a_wrong_layout_of_the_cache_costs_16_16_and_8_times_the_sectors(ran: Ran) -> None:
    assert [row[-1] for row in ran.numbers("kv-model")[1:]] == [16, 16, 8]
    for size, factor in ((1, 16), (2, 16), (4, 8)):
        sizes = {"blocks": 4, "tokens": 16, "heads": 2, "dim": 128}
        good, bad = (Tensor(sizes, order, size).warp("dim").sectors[0] for order in (KV_TOKENS_FIRST, KV_DIM_FIRST))
        assert bad == factor * good


def test_padded_rows_all_start_at_a_sector(ran: Ran) -> None:
    bare, padded = ran.lines("rows")
    assert bare.endswith("sectors [4, 5, 5, 5, 5, 5, 5, 5, 4]")
    assert padded.endswith("sectors [4, 4, 4, 4, 4, 4, 4, 4, 4]")
    assert padded_pitch(4004) == 4032 and 4032 % 16 == 0


def test_a_view_of_one_field_is_still_an_array_of_structs(ran: Ran) -> None:
    assert [row[-2:] for row in ran.numbers("views")] == [[16, 16], [4, 4]]


# Run it -----------------------------------------------------------------------------------------------


def test_packed_records_have_four_times_the_requests_of_aligned_ones(ran: Ran) -> None:
    packed = ran.value["records-kernel"]
    assert (packed.blocks * 256 // 32, packed.total("global", "instructions", "load")) == (32, 128)
    assert per_request(packed, "load") == 16
    difference = ran.value["aligned"]
    assert difference.before.total("global", "instructions", "load") == 128
    assert difference.after.total("global", "instructions", "load") == 32
    assert ran.lines("aligned")[0] == "bytes of a record: 16 packed, 16 aligned"


def test_a_whole_record_is_copied_byte_by_byte_also_when_it_is_aligned(ran: Ran) -> None:
    whole, fields = ran.numbers("copies")
    assert whole[0] == 2 * 32 * 16  # a load and a store of every byte
    assert fields[0] == 2 * 32 * 4
    assert (ran.space["aligned"].isalignedstruct, ran.space["packed"].isalignedstruct) == (True, False)


def test_kernels_of_four_layouts_count_what_the_model_counts(ran: Ran) -> None:
    rows = [re.split(r"\s{2,}", line.strip()) for line in ran.lines("layouts-table")[1:]]
    assert len(rows) == 8
    layouts = {"AoS, packed": ("aos", True), "AoS, aligned": ("aos", False), "SoA": ("soa", False),
               "AoSoA": ("aosoa", False)}  # fmt: skip
    for name, reads, requests, sectors, dram in rows:
        layout, bytewise = layouts[name]
        records = Records(PARTICLE, layout, 1024)  # type: ignore[arg-type]
        model = records.traffic(["x"] if reads == "x" else None, bytewise=bytewise)
        assert (int(requests), float(sectors)) == (model.requests, model.sectors_per_request)
        assert int(dram) == model.dram_bytes / 1024


def test_each_channel_kernel_likes_one_layout(ran: Ran) -> None:
    assert [row[0] for row in ran.numbers("channels-run")] == [4, 32, 32, 4]
    for _, least, most in ran.numbers("channels-run")[1:3]:
        assert most > 7 * least  # what the caches can repair


def test_the_cache_lab_shows_the_factors_of_the_model(ran: Ran) -> None:
    assert [row[-1] for row in ran.numbers("kv-run")] == [16, 16, 8]
    weight, cache = (site for site in ran.value["kv-cache"].sites if site.site.kind == "load")
    assert (weight.sectors_per_request, cache.sectors_per_request) == (1, 32)


def test_a_transpose_pays_on_one_side_whichever_way_the_lanes_go(ran: Ran) -> None:
    assert [row[-1] for row in ran.numbers("transpose-run")] == [4, 32, 32, 4]
    a, turned = np.ones((128, 128), np.float32), np.zeros((128, 128), np.float32)
    high = profile(ran.space["transpose"], (16, 4), (8, 32), a, turned)
    assert per_request(high, "load") == 4
    assert 4 < per_request(high, "store") < 32


def test_a_narrow_transpose_is_perfect_for_four_floats_and_good_for_three(ran: Ran) -> None:
    four = ran.value["narrow"]
    assert (per_request(four, "load"), per_request(four, "store")) == (4, 4)

    @cuda.jit
    def three(floats, fields):
        t = cuda.grid(1)
        if t < floats.size:
            fields[t % 3, t // 3] = floats[t]

    seen = profile(three, 12, 256, np.ones(3072, np.float32), np.zeros((3, 1024), np.float32))
    assert per_request(seen, "load") == 4
    assert 6 <= per_request(seen, "store") <= 9  # three fields, two or three sectors each


def test_turning_the_particles_pays_after_three_passes(ran: Ran) -> None:
    (turned, saved), (passes,) = ([row[-2], row[-1]] if len(row) > 1 else row for row in ran.numbers("pays"))
    assert turned == 2 * 16 * 1024 and saved == (16 - 4) * 1024
    assert (passes - 1) * saved < turned <= passes * saved
    assert passes == 3


# Fix it -----------------------------------------------------------------------------------------------


def test_the_kernel_that_the_notebook_shows_is_the_one_that_is_checked(ran: Ran) -> None:
    place = ran.space["place"]
    arguments = np.ones((2, 32), np.float32), np.ones(8 * 16 * 2 * 32, np.float32), np.zeros((2, 128), np.float32), 16
    shown = profile(ran.space["scores"], (1, 2), 128, *arguments)
    checked = profile(cache_scores(place), (1, 2), 128, *arguments)
    assert [(c.site.text, c.sectors, c.instructions) for c in shown.sites] == [
        (c.site.text, c.sectors, c.instructions) for c in checked.sites
    ]


def test_a_cache_is_filled_with_every_key_once(ran: Ran) -> None:
    keys = np.random.default_rng(3).random((3, 8, 2, 5), dtype=np.float32)
    cache = np.zeros(keys.size, np.float32)
    profile(cache_fill(ran.space["place"]), 2, 128, keys, cache)
    assert np.array_equal(cache, keys.ravel())  # [blocks, tokens, heads, dim], as the text says


def test_the_statements_of_the_notebook_and_of_the_checks_name_the_same_arguments(ran: Ran) -> None:
    for task in ("bytes_moved", "soa", "aosoa", "kv"):
        check: Any = find(f"layout/{task}")
        name = getattr(check, "kernel", None) or check.function
        parameters = re.search(rf"def {name}\(([^)]*)\)", ran.text(f"{task}-answer"))
        assert parameters is not None
        assert parameters.group(1).split(", ") == list(check.keys)


# Silicon ----------------------------------------------------------------------------------------------


def test_the_h200_counted_what_the_model_says(ran: Ran) -> None:
    for line in ran.lines("silicon-records")[1:]:
        _, model_requests, requests, model_sectors, sectors = line.split()
        assert (model_requests, model_sectors) == (requests, sectors)
    for line in ran.lines("silicon-views")[1:]:
        model, seen = [float(n) for n in re.findall(r"(?<![\w\[])\d+(?:\.\d+)?(?!\w)(?!:)", line.split(":", 1)[1])][-2:]
        assert model == seen
    views = {start: coalesce(lane_addresses(1, start), 4).sectors[0] for start in (1, 2, 3, 4, 8)}
    assert views == {1: 5, 2: 5, 3: 5, 4: 5, 8: 4}


def test_the_simple_story_fails_where_the_text_says_so() -> None:
    rows = measured.bandwidth("aos1 packed", "aos1 align", "soa1", "aos4 packed", "aos4 align", "soa4")
    assert rows["aos1 align"].dram_read_mb == pytest.approx(4 * rows["soa1"].dram_read_mb, rel=0.01)
    assert rows["aos1 align"].time_us < 2 * rows["soa1"].time_us
    assert rows["soa1"].dram_percent_of_peak < 50  # too few bytes in flight
    assert rows["aos4 align"].time_us < rows["soa4"].time_us < 1.06 * rows["aos4 align"].time_us
    assert rows["aos4 align"].load_sectors == 4 * rows["soa4"].load_sectors
    assert rows["aos1 packed"].time_us == pytest.approx(rows["aos1 align"].time_us, rel=0.02)
    assert rows["aos4 packed"].time_us > 2 * rows["aos4 align"].time_us
    assert rows["aos4 packed"].dram_percent_of_peak < 50  # so it is not the memory


def test_the_cache_with_eight_times_the_sectors_took_the_same_time() -> None:
    good, bad = measured.bandwidth("kv mode0", "kv mode1").timings
    assert bad.load_sectors == 8 * good.load_sectors
    assert bad.time_us == pytest.approx(good.time_us, rel=0.01)
    assert bad.dram_read_mb == good.dram_read_mb
    assert 10 < good.dram_percent_of_peak < 12  # "about a tenth"
    assert bad.l2_read_sectors < bad.load_sectors / 2  # L1 gave most of them


def test_the_labs_that_an_h200_ran_say_what_the_text_reads_from_them() -> None:
    def microseconds(name: str) -> list[list[float]]:
        lines = measured.lab(f"layout/{name}").text.splitlines()
        return [[float(t) for t in re.findall(r"([\d.]+) µs", line)] for line in lines]

    (_, packed_all), aligned, arrays, tiles = microseconds("layouts-time")
    assert packed_all > 1.5 * aligned[1]
    assert arrays[0] < tiles[0] < 1.2 * arrays[0] < aligned[0]
    assert tiles[1] == pytest.approx(aligned[1], rel=0.03)
    assert arrays[1] == pytest.approx(aligned[1], rel=0.03)
    (first,), (last,) = microseconds("channels-time")
    assert 2.5 < last / first < 3.5
    (dim_last,), (tokens_last,) = microseconds("kv-time")
    assert tokens_last < dim_last


def test_the_gpus_own_counters_agree_with_the_prediction() -> None:
    rows = [line.split() for line in measured.lab("layout/layouts-compare").text.splitlines()]
    compared = [(predicted, seen) for name, *numbers in rows if "__" in name for predicted, seen in [numbers]]
    assert len(compared) == 12
    assert all(predicted == seen for predicted, seen in compared)


# Go further -------------------------------------------------------------------------------------------


def test_the_metrics_of_ncu_are_one_list(ran: Ran) -> None:
    (command,) = re.findall(r"ncu --metrics ((?:.|\n)*?) python", ran.text("tools"))
    metrics = command.replace("\\\n", "").split(",")
    assert len(metrics) == 4
    assert all(re.fullmatch(r"[a-z0-9_]+\.sum", metric) for metric in metrics)


def test_the_text_uses_the_words_of_the_course(ran: Ran) -> None:
    text = "\n".join(cell.source for cell in ran.notebook.cells if cell.cell_type == "markdown")
    for word in ("transaction", "coalesced load", "cacheline", "thread block"):
        assert word not in text.lower()
