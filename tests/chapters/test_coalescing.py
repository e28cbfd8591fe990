"""Chapter `coalescing`: its practice questions, its labs, and every number that its text states."""

from __future__ import annotations

import re
from typing import Any

import nbformat
import numpy as np
import pytest

from autograder.cells import nbgrader_of
from autograder.settings import ROOT
from course import cuda, explore, measured, profile
from course.checks.coalescing import practice
from course.explorers import _coalescing
from course.models.coalescing import coalesce, index_addresses, lane_addresses
from tests.chapters.chapter_run import run_cell
from tests.support.paper_answers import ANSWERS


def test_the_h200_stays_below_what_is_left_of_its_bandwidth() -> None:
    left = ANSWERS["coalescing/p2"]["with_blocks"] * 1000
    assert 0.75 * left < measured.bandwidth("rd stride 32")["rd stride 32"].useful_gb_per_s < left


@pytest.fixture(scope="module")
def notebook() -> Any:
    return nbformat.read(ROOT / "source" / "coalescing" / "coalescing.ipynb", as_version=4)


@pytest.fixture(scope="module")
def texts(notebook) -> str:
    return "\n".join(" ".join(cell.source.split()) for cell in notebook.cells if cell.cell_type == "markdown")


@pytest.fixture(scope="module")
def space(notebook) -> dict[str, Any]:
    """The names that the cells of *Run it* define, after running all of them but those for a GPU only."""
    made: dict[str, Any] = {"__name__": "labs"}
    ids = [cell.id for cell in notebook.cells]
    run = notebook.cells[ids.index("run-stride") : ids.index("fix")]
    for cell in [notebook.cells[ids.index("setup")], *(cell for cell in run if cell.cell_type == "code")]:
        run_cell(cell.id, cell.source, made)
    return made


def load_of(seen: Any, array: str) -> Any:
    (site,) = (one for one in seen.sites if one.site.array == array and one.site.kind == "load")
    return site


@pytest.mark.parametrize("n", [1, 31, 32, 1000, 4096])
@pytest.mark.parametrize("blocks", [1, 3, 40])
def test_the_copies_of_lab_1_copy_with_any_number_of_blocks(space, n, blocks) -> None:
    for kernel, length in ((space["copy"], n), (space["copy_wide"], 4 * n)):
        x, out = np.random.default_rng(n).random(length, np.float32), np.zeros(length, np.float32)
        seen = profile(kernel, blocks, 64, x, out)
        assert not seen.findings
        np.testing.assert_array_equal(x, out)


def test_the_wide_copy_needs_a_quarter_of_the_requests_and_as_many_bytes(space) -> None:
    x = np.zeros(1 << 14, np.float32)
    narrow, wide = (profile(space[name], 8, 256, x, x.copy()) for name in ("copy", "copy_wide"))
    assert (narrow.sectors_per_request, wide.sectors_per_request) == (4, 16)
    assert narrow.requests == 4 * wide.requests
    assert narrow.transferred_bytes == wide.transferred_bytes == 2 * x.nbytes


@pytest.mark.parametrize("stride", [1, 2, 3, 4, 8, 33, 64])
def test_the_strides_of_lab_2_cost_what_the_model_says_and_an_h200_counted(space, stride) -> None:
    seen = profile(space["take_every"], 4, 256, np.zeros(1024 * stride, np.float32), np.zeros(1024, np.float32), stride)
    counted = measured.counters()[f"ld/float32/s{stride}/o0"]
    expected = counted["ld_sectors"] / counted["ld_requests"]
    assert load_of(seen, "x").sectors_per_request == expected
    assert coalesce(lane_addresses(stride), 4).sectors_per_request == expected


def test_only_starts_off_the_edge_of_a_sector_cost_one_more(space) -> None:
    long_x, short = np.zeros(2048, np.float32), np.zeros(1024, np.float32)
    for offset in range(20):
        seen = profile(space["take_from"], 4, 256, long_x, short, offset)
        assert load_of(seen, "x").sectors_per_request == (4 if offset % 8 == 0 else 5)


def test_good_and_bad_of_lab_3_do_the_same_and_differ_by_a_factor_of_eight(space) -> None:
    a = np.random.default_rng(1).random((256, 1056), np.float32)
    results = {name: np.zeros_like(a) for name in ("good", "bad")}
    good = profile(space["good"], (33, 32), (32, 8), a, results["good"])
    bad = profile(space["bad"], (8, 132), (32, 8), a, results["bad"])
    assert (good.sectors_per_request, bad.sectors_per_request) == (4, 32)
    for result in results.values():
        np.testing.assert_array_equal(result, 2 * a)


def test_the_shapes_of_lab_3_are_as_the_text_says(space) -> None:
    a = np.zeros((256, 1056), np.float32)
    shapes = ((32, 8), (16, 16), (8, 32), (33, 3), (1, 256))
    seen = {s: profile(space["good"], space["blocks"](s, *a.shape), s, a, np.zeros_like(a)) for s in shapes}
    assert [seen[shape].sectors_per_request for shape in shapes[:3]] == [4, 4, 4]
    assert 4 < seen[33, 3].sectors_per_request < 5 and 0.65 < seen[33, 3].efficiency < 0.75
    assert seen[1, 256].sectors_per_request == 32
    threads = 33 * 3
    assert (-(-threads // 32), threads % 32) == (4, 3), "a quarter of the warps have three lanes: 12 bytes"


def test_constant_memory_of_lab_4_halves_the_requests_and_changes_no_result(space) -> None:
    x = np.random.default_rng(2).random(1028, np.float32)
    plain, constant = np.zeros(1024, np.float32), np.zeros(1024, np.float32)
    before = profile(space["smooth"], 4, 256, x, space["WEIGHTS"], plain)
    after = profile(space["smooth_constant"], 4, 256, x, constant)
    assert before.total("global", "instructions", "load") == 2 * after.total("global", "instructions", "load")
    assert load_of(before, "weights").sectors_per_request == 1
    np.testing.assert_array_equal(plain, constant)
    np.testing.assert_allclose(plain, np.convolve(x, space["WEIGHTS"], "valid"), rtol=1e-5)


def test_a_cache_can_undo_row_sums_and_cannot_undo_take_every(space) -> None:
    a, sums = np.random.default_rng(3).random((256, 256), np.float32), np.zeros(256, np.float32)
    columns, rows = (profile(space[name], 1, 256, a, sums) for name in ("column_sums", "row_sums"))
    np.testing.assert_allclose(sums, a.sum(axis=1), rtol=1e-5)
    every = profile(space["take_every"], 4, 256, np.zeros(8192, np.float32), out := np.zeros(1024, np.float32), 8)
    loads = {
        seen.kernel: [
            seen.total("global", "transferred_bytes", "load") / seen.total("global", "requested_bytes", "load"),
            (seen.dram.compulsory - stored) / seen.total("global", "requested_bytes", "load"),
        ]
        for seen, stored in ((columns, sums.nbytes), (rows, sums.nbytes), (every, out.nbytes))
    }
    assert loads == {"column_sums": [1, 1], "row_sums": [8, 1], "take_every": [8, 8]}
    filtered = space["signal"]
    assert profile(space["smooth_constant"], 4, 256, filtered, out).dram.compulsory < 5 * 4 * 1024


def test_one_row_for_each_thread_fits_into_the_cache_of_an_h200_and_five_do_not(space) -> None:
    sm = space["limits"]("9.0")
    assert sm.threads_per_sm * 32 < sm.l1_and_shared_bytes_per_sm < 5 * sm.threads_per_sm * 32


def test_the_gathers_of_lab_6_cost_what_the_text_says(space) -> None:
    n, elements = 1 << 14, 1 << 22
    assert elements // n == 256
    table, costs = np.arange(elements, dtype=np.float32), {}
    for name, (kernel, index) in space["picks"](n, elements).items():
        read = np.zeros(n, np.float32)
        seen = profile(kernel, n // 256, 256, table, index, read)
        costs[name] = load_of(seen, "table").sectors_per_request
        wanted = index if index.size == n else (64 * index[:, np.newaxis] + np.arange(64)).ravel()
        np.testing.assert_array_equal(read, table[wanted])
    assert costs["in order"] == costs["random rows"] == 4
    assert costs["at random"] > 31.9 and costs["the same, sorted"] > 31, "sorting does not help here"


def test_sorted_picks_on_a_gpu_save_a_fifth_of_the_sectors() -> None:
    picks = np.random.default_rng(1).integers(0, 1 << 20, 1 << 16)  # one for every 16 elements, as on the GPU
    costs = [coalesce(index_addresses(p.reshape(-1, 32))).sectors.sum() for p in (np.sort(picks), picks)]
    assert costs[0] / costs[1] == pytest.approx(0.8, abs=0.02)


def test_sorting_by_expert_makes_nearly_every_load_a_broadcast(space) -> None:
    out, expert = np.zeros(4096, np.float32), space["expert"]
    seen = [
        profile(space["read_weight"], 16, 256, space["weights"], order, out, 5) for order in (expert, np.sort(expert))
    ]
    random, in_order = (load_of(one, "weights").sectors_per_request for one in seen)
    assert random > 7.5 and in_order < 1.1


def test_64_lanes_make_half_of_the_requests_and_move_as_much(space) -> None:
    x, out = np.zeros(8192, np.float32), np.zeros(1024, np.float32)
    warps, wavefronts = (profile(space["take_every"], 4, 256, x, out, 8, warp_lanes=lanes) for lanes in (32, 64))
    assert warps.requests == 2 * wavefronts.requests
    assert (warps.sectors, warps.efficiency) == (wavefronts.sectors, wavefronts.efficiency)


def test_a_sweep_of_profiles_draws_what_the_model_draws(space, monkeypatch) -> None:
    sent: list[str] = []
    monkeypatch.setattr(_coalescing, "show_html", sent.append)
    x, out = np.zeros(64 * 32, np.float32), np.zeros(32, np.float32)
    runs = {stride: profile(space["take_every"], 1, 32, x, out, stride) for stride in range(1, 65)}
    explore.stride_sweep(profiles=runs)
    explore.stride_sweep()
    assert sent[0] == sent[1]
    explore.stride_sweep(profiles={8: runs[8], 1: runs[1]})
    assert "from 4 at stride 1 to 32 at stride 8" in sent[2]


# ---- what the text says of an H200 -----------------------------------------------------------------------


def lab_numbers(name: str, pattern: str) -> list[float]:
    return [float(found) for found in re.findall(pattern, measured.lab(f"coalescing/{name}").text)]


def test_every_lab_was_recorded_on_a_gpu(notebook) -> None:
    timed = [
        c.id for c in notebook.cells if c.cell_type == "code" and re.search(r"\b(time_on_gpu|compare)\(", c.source)
    ]
    assert len(timed) == 7
    for name in timed:
        assert "no GPU here" not in measured.lab(f"coalescing/{name}").text


def test_what_the_text_says_of_the_recorded_labs_is_so(texts) -> None:
    _, wide = lab_numbers("ceiling-time", r"(\d+) GB/s")
    assert wide / 1000 == pytest.approx(4.2, abs=0.1) and "is 4.2 TB/s" in texts
    shapes = lab_numbers("order-time", r"([\d.]+) µs")
    assert shapes[4] / shapes[0] == pytest.approx(6, abs=0.5) and "takes six times as long" in texts
    assert 1.7 < shapes[3] / shapes[0] < 2 and "takes nearly twice as long" in texts
    columns, rows = lab_numbers("cache-time", r"([\d.]+) µs")
    assert 2.7 < rows / columns < 3 and "almost three times as long" in texts
    in_order, random, in_sorted, of_rows = lab_numbers("gather-lab-time", r"(\d+) GB/s")
    assert in_order / random == pytest.approx(5.8, abs=0.2) and "almost six times fewer bytes" in texts
    assert of_rows == pytest.approx(in_order, rel=0.05) and in_sorted > 2 * random


def test_the_counters_of_the_gpu_are_those_of_the_prediction() -> None:
    rows = [line.split() for line in measured.lab("coalescing/run-gpu").text.splitlines() if "global_op" in line]
    assert len(rows) == 5
    for name, predicted, counted in rows:
        assert predicted == counted, name


def test_the_best_copy_reaches_nine_tenths_of_the_data_sheet(space) -> None:
    peak = space["card"]("h200").dram_gb_per_s
    share = {name: measured.bandwidth(name)[name].useful_gb_per_s / peak for name in ("copy f4", "copy c16")}
    assert share["copy c16"] == pytest.approx(0.9, abs=0.02)
    assert share["copy f4"] < 0.6, "the narrow copy stays far below"


def test_other_peoples_shares_and_ours_have_the_same_order(notebook) -> None:
    source = next(cell.source for cell in notebook.cells if cell.id == "percent-of-peak")
    rows = re.findall(r'"(\d+) to (\d+) %", "([^"]+)"', source)
    assert len(rows) == 6
    theirs = [(int(low) + int(high)) / 2 for low, high, _ in rows]
    ours = [measured.bandwidth(name)[name].useful_gb_per_s for *_, name in rows]
    assert np.argsort(theirs).tolist() == np.argsort(ours).tolist()


def test_the_metrics_of_the_commands_are_one_list_of_known_names(texts) -> None:
    (metrics,) = re.findall(r"ncu --metrics (\S+) python", texts)
    known = {*profile(space_free_kernel, 1, 32, np.zeros(32, np.float32)).metrics, "dram__bytes_read.sum"}
    assert set(metrics.split(",")) <= known
    assert "rocprofv3 --pmc FETCH_SIZE -- ./stride" in texts and "nsys profile --stats=true" in texts


@cuda.jit
def space_free_kernel(out):
    out[cuda.grid(1)] = 1


# ---- the text itself ---------------------------------------------------------------------------------------

WORDS_PER_MINUTE = 150
"""Of technical text, for somebody to whom English is the second language."""
MINUTES_PER_CELL, MINUTES_PER_EXERCISE, MINUTES_PER_QUESTION, MINUTES_PER_PRACTICE = 0.5, 10, 3.5, 3


def words(cells: list[Any]) -> int:
    read = [c for c in cells if c.cell_type == "markdown" and not nbgrader_of(c).get("solution")]
    return sum(len(re.findall(r"\w[\w'’-]*", cell.source)) for cell in read)


def test_the_time_at_the_top_is_what_words_cells_and_exercises_take(notebook, texts) -> None:
    cells = notebook.cells
    ids = [cell.id for cell in cells]
    main, further = cells[: ids.index("further")], cells[ids.index("further") : ids.index("summary")]
    code = sum(cell.cell_type == "code" for cell in main)
    stated = re.search(r"half hours: (\d+) minutes .* cells, (\d+) for the explorer, (\d+) for .* extra \((\d+)", texts)
    reading, explorer, tasks, practised = map(int, stated.groups())
    assert reading == pytest.approx(words(main) / WORDS_PER_MINUTE + MINUTES_PER_CELL * code, rel=0.1)
    graded = [nbgrader_of(cell)["grade_id"] for cell in main if nbgrader_of(cell).get("grade")]
    questions = sum(name.startswith("q") for name in graded)
    expected = MINUTES_PER_EXERCISE * (len(graded) - questions) + MINUTES_PER_QUESTION * questions
    assert tasks == pytest.approx(expected, rel=0.1)
    assert reading + explorer + tasks == pytest.approx(150, abs=10), "two and a half hours"
    expected = words(further) / WORDS_PER_MINUTE + MINUTES_PER_PRACTICE * len(practice.QUESTIONS)
    assert practised == pytest.approx(expected, rel=0.1)


def test_the_chapter_has_its_nine_sections_in_order(notebook) -> None:
    found = [h for c in notebook.cells if c.cell_type == "markdown" for h in re.findall(r"^## (.+)$", c.source, re.M)]
    assert found == [
        "The question", "Predict, then reveal", "Explore", "Run it", "Fix it", "Quiz", "Does it hold on silicon?",
        "Go further", "What you can do now",
    ]  # fmt: skip
