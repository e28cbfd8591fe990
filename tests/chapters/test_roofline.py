"""Chapter `roofline`: what its text says is what its cells compute and what the H200 measured."""

from __future__ import annotations

import re
import types

import nbformat
import pytest

from autograder.cells import nbgrader_of, split
from autograder.settings import ROOT
from course import measured
from course.cards import CARDS, card
from course.models.roofline import attainable, bandwidths, cpu_or_gpu, machine, ridges
from course.models.tiling import matmul
from tests.chapters.chapter_run import SECTIONS, run_cell

ELEMENTS = 2**27
"""Of the saxpy at the beginning."""


@pytest.fixture(scope="module")
def notebook():
    return nbformat.read(ROOT / "source/roofline/roofline.ipynb", as_version=4)


@pytest.fixture(scope="module")
def text(notebook):
    """All prose, on one line."""
    return " ".join(" ".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown").split())


@pytest.fixture(scope="module")
def ran(notebook):
    """Cell id -> what it printed, and the names that the notebook has at its end; solutions are filled in."""
    space, printed, shown = {"__name__": "notebook"}, {}, []
    for cell in notebook.cells:
        if cell.cell_type != "code" or nbgrader_of(cell).get("grade") or cell.source.startswith("explore."):
            continue
        source = split(cell.source).answer if nbgrader_of(cell).get("solution") else cell.source
        printed[cell.id], _ = run_cell(cell.id, source, space)
        if cell.id == "imports":
            space["explore"] = types.SimpleNamespace(roofline=lambda *profiles, on: shown.append((profiles, on)))
    return printed, {**space, "shown": shown}


@pytest.fixture(scope="module")
def printed(ran):
    return ran[0]


def numbers(line):
    return [float(number.replace(",", "")) for number in re.findall(r"(?<![\w.])\d[\d,]*\.?\d*", line)]


# The form ------------------------------------------------------------------------------------------


def test_the_sections_come_in_the_order_of_every_chapter(notebook):
    heads = [line[3:] for cell in notebook.cells for line in cell.source.splitlines() if line.startswith("## ")]
    assert heads == SECTIONS


def test_it_begins_with_what_the_last_chapter_left(notebook):
    assert "last chapter" in notebook.cells[0].source
    assert "occupancy" in notebook.cells[-1].source


def test_metrics_stand_in_one_list_without_spaces(text):
    lists = re.findall(r"ncu --metrics (\S+) python", text)
    assert lists
    assert all(re.fullmatch(r"[a-z_]+\.sum(,[a-z_0-9]+\.sum)*", one) for one in lists)


def test_only_words_of_the_course_are_used(text):
    assert not re.search(r"(?i)transaction|thread block|\bcta\b|\bthroughput\b", text)


# The question --------------------------------------------------------------------------------------


def test_the_saxpy_of_the_question_has_perfect_accesses_and_reaches_less_than_a_hundredth_of_the_peak(printed):
    run = measured.bandwidth("saxpy")["saxpy"]
    assert run.useful_gb_per_s * run.time_us * 1000 == pytest.approx(12 * ELEMENTS, rel=0.001)
    assert 32 * (run.load_sectors + run.store_sectors) == 12 * ELEMENTS
    reached, peak, share = numbers(printed["saxpy-share"])
    assert reached == pytest.approx(2 * ELEMENTS / run.time_us / 1e6, abs=0.01)
    assert (peak, share) == (66.9, 0.9)


def test_saxpy_could_not_become_a_hundred_times_faster(printed):
    assert "memory-bound" in printed["saxpy-roof"]
    assert 0.7 < attainable_share() < 0.75
    assert f"{attainable_share():.0%}" in printed["saxpy-roof"]


def attainable_share():
    run = measured.bandwidth("saxpy")["saxpy"]
    return 2 * ELEMENTS / run.time_us / 1e6 / float(attainable(2 / 12, "H200").attainable_tflops)


# Tiles, ridges, cards --------------------------------------------------------------------------------


def test_the_three_toy_kernels_are_those_of_lesson_000(printed):
    rows = [numbers(line) for line in printed["toy-kernels"].splitlines()[2:]]
    assert [row[2] for row in rows[:2]] == [0.167, 0.25]
    assert "16.000 FLOP/B" in printed["toy-kernels"]
    assert "19.500 TFLOP/s, 100.0% of the peak, compute-bound" in printed["toy-kernels"]


def test_tiles_of_64_are_right_of_both_ridges_and_too_many_threads(printed):
    rows = {line.split()[0]: line for line in printed["tile-table"].splitlines()[2:]}
    assert all("memory" in rows[tile] and "arithmetic" not in rows[tile] for tile in ("1", "8", "16", "32"))
    assert all(rows[tile].count("arithmetic") == 2 and "too many" in rows[tile] for tile in ("64", "128"))
    assert "too many" not in rows["32"]


def test_halving_what_is_not_the_limit_changes_nothing(printed):
    times = [numbers(line)[-1] for line in printed["halves"].splitlines()]
    saxpy, polynomial = times[:3], times[3:]
    assert saxpy[0] == saxpy[1] == pytest.approx(2 * saxpy[2], rel=0.01)
    assert polynomial[0] == polynomial[2] == pytest.approx(2 * polynomial[1], rel=0.01)


def test_what_the_text_reads_from_the_table_of_ridges():
    gpus = [one for one in CARDS.values() if one.kind == "gpu"]
    assert card("H200").peak_tflops() == card("H100 SXM").peak_tflops()
    assert card("H200").ridge() < card("H100 SXM").ridge()
    games = [one.ridge() for one in gpus if one.name.startswith(("RTX", "L4"))]
    assert min(games) > max(one.ridge() for one in gpus if one.memory_gb >= 80)
    assert all(one.ridge("fp16") >= 1.9 * one.ridge() for one in gpus)
    assert sum(one.ridge("fp64") < 1.7 for one in gpus) >= 6
    assert (round(ridges("H100 SXM")["fp32"], 1), round(ridges("H100 PCIe")["fp32"], 1)) == (20.0, 25.5)


def test_what_the_text_says_of_gpu_and_cpu(printed):
    rows = [
        numbers(line.split("FLOP/B:")[1].replace("FP32", "")) for line in printed["triage-programs"].splitlines()[1:]
    ]
    ratio = round(cpu_or_gpu(1, "a100-80gb").bandwidth_ratio, 1)
    assert rows[0] == rows[1] == [ratio, ratio]  # memory-bound: tensor units add nothing
    assert rows[3][1] > 3 * ratio > rows[3][0]  # many FLOP for each byte, and a fast unit
    ratios = [cpu_or_gpu(1, name) for name in ("t4", "rtx-4090", "a100-80gb", "h100-sxm", "h200", "mi300x")]
    assert sum(one.bandwidth_ratio > one.peak_ratio for one in ratios) >= 4
    assert "publishes no such figure" in printed["integrated"]


# Profiles --------------------------------------------------------------------------------------------


def test_three_counts_of_bytes_give_three_intensities(printed):
    naive, tiled = (numbers(line) for line in printed["three-counts"].splitlines()[1:])
    assert naive == [0.25, 0.40, pytest.approx(128 / 6, abs=0.01)]
    assert 7 < tiled[0] == tiled[1] < 32 / 4
    assert tiled[2] == naive[2]


def test_profiles_land_under_the_roof(ran):
    ((kernel,), on) = ran[1]["shown"][-1]
    assert (kernel.kernel, on) == ("climb", "h200")
    assert kernel.arithmetic_intensity == (4, 4)


def test_stride_8_moves_8_times_the_bytes_and_is_called_memory_bound_too(printed):
    near, far = (numbers(line) for line in printed["strided-saxpy"].splitlines())
    assert (near[1], 8 * near[2], near[3]) == (far[1], far[2], 8 * far[3])
    assert printed["strided-saxpy"].count("memory-bound") == 2


def test_three_perfect_steps_move_more_than_twice_of_what_they_must(printed):
    assert printed["steps-counted"].count("4 sectors/request") == 3
    assert "together 28 B for each element; without t and u 12 B" in printed["steps-counted"]


def test_without_a_gpu_the_labs_say_so_and_show_what_is_attainable(printed):
    for lab in ("stream-lab", "climb-lab", "matmul-lab"):
        assert "no GPU here" in printed[lab]
        assert "nan" not in printed[lab]
    assert "T/4 =  0.25 FLOP/B allows  1.20 TFLOP/s" in printed["matmul-lab"]


def test_the_limit_of_a_tiled_product_is_shared_memory_whatever_the_tile(printed):
    lines = printed["shared-roof"].splitlines()
    assert all(line.endswith("the limit is shared") for line in lines[-2:])
    tiled, registers = (numbers(line.partition("  ")[2]) for line in lines[-2:])
    assert registers[2] > 3 * tiled[2]
    counts = {tile: matmul(256, tile) for tile in (16, 32)}
    loads = {tile: count.shared_load_wavefronts for tile, count in counts.items()}
    assert loads[16] == loads[32]


def test_the_solutions_in_the_notebook_leave_the_right_names(ran):
    _, space = ran
    assert space["attainable"](0.25, 2000, 19.5) == 0.5
    assert space["ridge"](2000, 19.5) == 9.75
    assert space["q3"]["attainable_tflops"] == 5.0
    assert space["q3"]["share_of_peak"] == pytest.approx(0.256, abs=0.001)


def test_the_model_answer_about_question_3_states_the_ridge(text):
    found = machine("a100-80gb")
    assert 2.5 < 19.5 / 2.0 == 9.75 < 1.05 * found.ridge
    assert "2.5 FLOP per byte, left of the ridge at 9.75" in text


# Silicon ---------------------------------------------------------------------------------------------


def test_the_roof_can_be_reached_and_one_float_a_lane_does_not_reach_it(printed):
    shares = {
        line[:12].strip(): numbers(line.split("GB/s,")[1])[0] for line in printed["silicon-bandwidth"].splitlines()[:-1]
    }
    assert max(shares.values()) >= 94
    assert 30 < shares["rd stride 1"] < 37
    assert shares["rd stride 1"] < shares["rd stride 2"] < shares["rd stride 4"] < shares["rd stride 8"]
    assert shares["copy f4"] < shares["copy f8"] < shares["copy c16"]
    assert 0.7 < shares["saxpy"] / 100 < 0.75


def test_caches_bring_every_matrix_product_of_256_near_its_compulsory_bytes(printed):
    rows = printed["silicon-levels"].splitlines()[2:]
    assert len(rows) == 3
    once = 2 * 4 * 256**2
    for row in rows:
        *levels, reads = numbers(row[15:])
        assert levels == sorted(levels)
        assert once <= reads < 1.02 * once
    naive = numbers(rows[0][15:])
    assert naive[0] == 0.25 and naive[1] < 0.06 * naive[2]  # L1 keeps nearly everything away from L2


def test_a_pad_keeps_the_compiler_from_wide_loads_and_every_product_stays_far_below_the_peak(printed):
    plain, padded, wide = (numbers(line[15:]) for line in printed["silicon-shared"].splitlines()[1:])
    assert plain[0] < padded[0] == wide[0]
    assert plain[1] < wide[1] < padded[1]
    assert max(row[2] for row in (plain, padded, wide)) < 0.2 * card("H200").peak_tflops()


def reached():
    """Case -> TFLOP/s of the products that the last chapter timed on an H200."""
    lines = measured.lab("tiling/matmul-time").text.splitlines()
    return {re.split(r"  +", line)[0]: float(line.split()[-2]) for line in lines}


def products():
    """Case -> (attainable, measured) TFLOP/s of this chapter's products on an H200."""
    rows = (re.split("T/4 = ", line) for line in measured.lab("roofline/matmul-lab").text.splitlines())
    return {name.strip(): tuple(numbers(row)[1:]) for name, row in rows}


def test_the_naive_product_is_above_the_roof_that_its_requested_bytes_would_give_it(printed):
    most, took = products()["naive"]
    assert most == pytest.approx(float(attainable(0.25, "H200").attainable_tflops))
    assert took > 1.1 * most
    moved, cache = (numbers(part)[-1] for part in printed["silicon-fits"].split(";"))
    assert moved > 3 * cache


def test_tiles_stop_at_shared_memory_and_registers_go_twice_as_fast(printed):
    took = {name: row[1] for name, row in products().items()}
    roof = numbers(printed["shared-roof"].splitlines()[-2].partition("  ")[2])[2]
    assert took["tiles of 32 x 32"] == pytest.approx(roof, rel=0.05)
    assert took["tiles of 32 x 32"] == pytest.approx(took["tiles of 16 x 16"], rel=0.05)
    assert took["64 x 64, in registers"] > 2 * took["tiles of 32 x 32"]
    assert all(2 * row[1] < row[0] for name, row in products().items() if name != "naive")


def test_the_kernel_that_climbs_stays_at_half_of_the_slope_and_far_below_the_peak():
    rows = [numbers(line) for line in measured.lab("roofline/climb-lab").text.splitlines()[1:]]
    assert all(0.4 < took / most < 0.6 for steps, _, most, took in rows if steps <= 4)
    assert rows[-1][3] < 0.15 * rows[-1][2]
    assert rows[-1][3] < 1.15 * rows[-3][3]


def test_no_tiled_product_is_above_its_roof_of_shared_memory_and_tiles_of_16_come_near(printed):
    plain, padded, wide = (numbers(line[15:])[2] for line in printed["silicon-shared"].splitlines()[1:])
    times = reached()
    assert 0.75 * plain < times["T = 16, pad 0"] < plain
    assert 0.75 * padded < times["T = 16, pad 1"] < padded
    assert times["T = 32, pad 1"] < 0.3 * wide


# Numbers that the text repeats from the table of cards ------------------------------------------------


def test_figures_of_cards_in_the_text_are_those_of_the_table(text):
    for name, unit, peak, bandwidth in (
        ("H100 SXM", "fp32", "66.9 TFLOP/s", "3350 GB/s"),
        ("H100 PCIe", "fp32", "51 TFLOP/s", "2000 GB/s"),
        ("H100 SXM", "fp16", "989.4 TFLOP/s", "3350 GB/s"),
        ("A100 80GB SXM", "fp32", "19.5 TFLOP/s", "2039 GB/s"),
        ("T4", "fp32", "8.1 TFLOP/s", "320 GB/s"),
        ("desktop-cpu", "fp32", "4.4 TFLOP/s", "89.6 GB/s"),
    ):
        found = card(name)
        assert f"{found.peak_tflops(unit):g} TFLOP/s" == peak and f"{found.dram_gb_per_s:g} GB/s" == bandwidth
        assert peak in text and bandwidth in text
    (shared,) = (roof.gb_per_s for roof in bandwidths("H200") if roof.level == "shared")
    assert f"{shared / 1000:.1f} TB/s" in text
    assert f"{card('H200').dram_gb_per_s:g} GB/s" in text


def test_no_solution_stands_outside_of_the_solution_blocks(notebook):
    visible = "\n".join(split(cell.source).visible for cell in notebook.cells if cell.cell_type == "code")
    assert "peak_tflops * 10**12" not in visible
    assert "squared = scaled" not in visible
    assert "results_per_thread=64" not in visible
