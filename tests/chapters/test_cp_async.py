"""Chapter `cp_async`: what its cells print, and every number and claim of its text, recomputed."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from autograder.cells import split
from course import measured
from course.cards import CARDS
from course.kernels import cp_async as kernels
from course.models.pipeline import async_copy, pipeline, pipeline_time
from course.profiling.compiled import registers
from course.profiling.profile import profile
from tests.chapters.chapter_run import Ran, run_cell


@pytest.fixture(scope="module")
def ran() -> Ran:
    return Ran("cp_async")


def findings(seen: Any) -> list[tuple[str, str]]:
    """Kind of each finding, and the text of its line."""
    first = seen.lines[0].number
    return [(finding.kind, seen.lines[finding.line - first].text.strip()) for finding in seen.findings]


# The question, the predictions and the model ------------------------------------------------------------


def test_a_block_computes_half_of_the_time_whatever_the_number_of_tiles(ran: Ran) -> None:
    assert [row[-1] for row in ran.rows("question-half")[1:5]] == [50, 50, 50, 50]
    cycles = measured.latency().cycles
    heading = ran.printed["question-half"].splitlines()[0]
    assert f"{round(cycles['l2'])} from L2" in heading and f"{cycles['dram']:.0f} from DRAM" in heading
    assert "H200" in ran.printed["question-half"]


def test_a_third_buffer_does_not_help_where_the_memory_works_all_the_time() -> None:
    one, two, three = (pipeline(4, 5, 3, stages) for stages in (1, 2, 3))
    assert two.total_time == three.total_time < one.total_time
    assert np.array_equal(two.load_start[1:], two.load_end[:-1])  # from the first load to the last, without a gap


@pytest.mark.parametrize("tiles", [1, 2, 7, 40])
@pytest.mark.parametrize(("load", "compute"), [(5, 3), (3, 5), (4, 4), (0, 3), (9, 1)])
def test_the_formula_of_the_text_is_what_the_schedule_gives(tiles: int, load: int, compute: int) -> None:
    for stages in (1, 2, 3):
        formula = tiles * (load + compute) if stages == 1 else load + (tiles - 1) * max(load, compute) + compute
        assert float(pipeline_time(tiles, load, compute, stages)) == formula
        assert pipeline(tiles, load, compute, stages).total_time == formula


def test_the_gain_is_largest_where_both_are_equal_and_below_two(ran: Ran) -> None:
    gains = {int(row[0]): row[3] for row in ran.rows("rule-gain")}
    assert max(gains, key=lambda load: gains[load]) == 6
    assert all(1 < gain < 2 for gain in gains.values())
    assert gains[1] < 1.2 and gains[24] < 1.3


def test_more_stages_help_where_the_memory_is_far_away_and_not_where_it_is_busy(ran: Ran) -> None:
    busy, far = (row[-5:] for row in ran.rows("stages-deep"))
    assert busy[0] > busy[1] == busy[2] == busy[3] == busy[4]
    assert far[0] > far[1] > far[2] > far[3] == far[4]
    assert far[:2] == busy[:2]


def test_two_stages_cost_half_of_the_warps(ran: Ran) -> None:
    table = {int(row[0]): row for row in ran.rows("stages-occupancy")[:5]}
    assert table[2][3] == table[1][3] / 2
    assert "Two stages cost half of the warps here" in ran.prose("stages-choice")
    assert ran.rows("stages-occupancy")[5] == [5]
    assert table[5][2] == 2


def test_the_list_of_what_overlap_cannot_help_is_what_the_model_says() -> None:
    assert pipeline_time(1, 5, 3, 1) == pipeline_time(1, 5, 3, 2)
    for load, compute in ((1, 50), (50, 1)):
        assert float(pipeline_time(100, load, compute, 1) / pipeline_time(100, load, compute, 2)) < 1.03


# The kernels -------------------------------------------------------------------------------------------


def test_every_kernel_of_the_chapter_gives_the_sums_that_numpy_gives(ran: Ran) -> None:
    for name in ("load_then_compute", "hold_next", "copy_next"):
        _check(ran.space[name], 1)
    for each in (1, 2, 4, 32):
        for make in (kernels.synchronous, kernels.in_registers, kernels.with_copies):
            _check(make(64, each), each)
        for stages in (3, 4, 8 if each < 32 else 5):  # a block can declare no more than 48 KiB
            _check(kernels.with_copies(64, each, stages), each)


def _check(kernel: Any, each: int) -> None:
    y, out, tiles = kernels.arguments(3, 9, 64 * each)
    assert profile(kernel, 3, 64, y, out, tiles).findings == ()
    expected = [sum(y[n // 64 * 64 + n % 8 + 8 * row] for row in range(8)) for n in range(y.size)]
    assert out.tolist() == expected  # whole numbers: no rounding
    assert np.array_equal(out, kernels.column_sums(y))


def test_the_kernels_that_the_chapter_shows_cost_what_those_of_the_library_cost(ran: Ran) -> None:
    made = {
        "load_then_compute": kernels.synchronous(64), "hold_next": kernels.in_registers(64),
        "copy_next": kernels.with_copies(64),
    }  # fmt: skip
    for name, kernel in made.items():
        shown, same = (profile(k, 2, 64, *kernels.arguments(2, 8)) for k in (ran.space[name], kernel))
        counts = [
            [seen.total(space, number, way) for space in ("global", "shared") for number in ("instructions", "sectors")
             for way in ("load", "store")] + [seen.shared_wavefronts, seen.shared_bytes, seen.copies.overlapped]
            for seen in (shown, same)
        ]  # fmt: skip
        assert counts[0] == counts[1], name


def test_one_line_of_the_first_kernel_is_a_load_and_a_store_and_both_are_perfect(ran: Ran) -> None:
    seen = ran.value["run-synchronous"]
    (line,) = (line for line in seen.lines if line.text.strip() == "tile[t] = y[first + 64 * k + t]")
    assert {(c.site.space, c.site.kind) for c in line.sites} == {("global", "load"), ("shared", "store")}
    assert seen.sectors_per_request == 4
    assert seen.shared_wavefronts == seen.ideal_shared_wavefronts


def barriers(text: str) -> int:
    return text.count("cuda.syncthreads()")


def test_two_buffers_need_one_barrier_and_the_same_requests(ran: Ran) -> None:
    before, after = ran.value["run-synchronous"], ran.value["run-registers-profile"]
    assert (before.requests, before.sectors) == (after.requests, after.sectors)
    sources = [barriers("\n".join(line.text for line in seen.lines)) for seen in (before, after)]
    assert sources == [2, 1]
    assert after.findings == ()
    assert "True" in ran.printed["run-registers-profile"]


def test_a_copy_that_is_waited_for_at_once_lands_without_computing(ran: Ran) -> None:
    seen = ran.value["run-first-copy"]
    assert seen.findings == ()
    assert (seen.copies.landed, seen.copies.overlapped, seen.copies.waits) == (2, 0, 2)
    (line,) = (line for line in seen.lines if "cp_async(" in line.text)
    assert [(c.site.space, c.site.kind, c.instructions) for c in line.sites] == [
        ("global", "load", 2), ("shared", "store", 2),
    ]  # fmt: skip
    assert "[63. 62. 61. 60.]" in ran.printed["run-first-copy"]


def test_without_the_wait_the_result_is_wrong_and_named(ran: Ran) -> None:
    assert findings(ran.value["run-no-wait"]) == [("async-not-waited", "out[t] = tile[63 - t]")]
    assert "nan" in ran.printed["run-no-wait"]
    assert ran.value["run-no-wait"].copies.landed == 0


def test_without_the_barrier_the_result_is_right_and_the_race_is_named(ran: Ran) -> None:
    assert findings(ran.value["run-no-barrier"]) == [("shared-race", "out[t] = tile[63 - t]")]
    assert "[63. 62. 61. 60.]" in ran.printed["run-no-barrier"]


def test_of_three_groups_the_last_comes_too_early(ran: Ran) -> None:
    assert findings(ran.value["run-groups"]) == [("async-wrong-group", "out[t] += tile[2, t]")]


def test_all_copies_but_those_of_the_first_tile_land_while_the_block_computes(ran: Ran) -> None:
    seen = ran.value["run-copies-profile"]
    tiles, warps = 8, 4
    copies = seen.copies
    assert (copies.landed, copies.overlapped) == (tiles * warps, (tiles - 1) * warps)
    assert copies.waits == tiles * warps
    assert seen.findings == ()
    assert barriers("\n".join(line.text for line in seen.lines)) == 1
    assert "True" in ran.printed["run-copies-profile"]


def variant(ran: Ran, edit: tuple[str, str], name: str = "copy_next") -> Any:
    """A kernel of the chapter with one edit."""
    text = next(split(cell.source).visible for cell in ran.notebook.cells if f"def {name}(" in cell.source)
    assert text.count(edit[0]) == 1
    run_cell(f"variant {abs(hash(edit))}", text.replace(*edit), ran.space)
    made = ran.space[name]
    run_cell(f"again {abs(hash(edit))}", text, ran.space)
    return made


def test_a_copy_that_starts_before_the_barrier_is_a_race_with_right_results(ran: Ran) -> None:
    start = (
        "        if k + 1 < tiles:\n            cuda.cp_async(tile, ((k + 1) % 2, t), y, first + 64 * (k + 1) + t, 4)\n"
    )
    kernel = variant(ran, ("        cuda.syncthreads()\n" + start, start + "        cuda.syncthreads()\n"))
    y, out, tiles = kernels.arguments(2, 8)
    seen = profile(kernel, 2, 64, y, out, tiles)
    assert "shared-race" in {finding.kind for finding in seen.findings}
    assert np.array_equal(out, kernels.column_sums(y))


def test_copies_that_start_at_the_end_of_the_round_overlap_nothing(ran: Ran) -> None:
    start = (
        "        if k + 1 < tiles:\n            cuda.cp_async(tile, ((k + 1) % 2, t), y, first + 64 * (k + 1) + t, 4)\n"
        "        cuda.cp_async_commit()\n"
    )
    work = (
        "        total = np.float32(0)\n        for j in range(8):\n            total += tile[k % 2, t % 8 + 8 * j]\n"
        "        out[first + 64 * k + t] = total"
    )
    kernel = variant(ran, (start + work, work + "\n" + start.rstrip()))
    y, out, tiles = kernels.arguments(2, 8)
    seen = profile(kernel, 2, 64, y, out, tiles)
    assert seen.findings == ()
    assert seen.copies.overlapped == 0
    assert np.array_equal(out, kernels.column_sums(y))


def test_any_number_of_stages_is_right_and_costs_its_shared_memory(ran: Ran) -> None:
    rows = [line.split() for line in ran.printed["run-stages"].splitlines()[1:]]
    assert [row[0] for row in rows] == ["2", "3", "4"]
    assert [int(row[1]) for row in rows] == [256 * stages for stages in (2, 3, 4)]
    assert [row[2] for row in rows] == ["0", "1", "2"]
    assert {(row[3], row[4], row[5], row[6]) for row in rows} == {("32", "28", "0", "True")}


def test_which_copies_are_legal(ran: Ran) -> None:
    lines = ran.printed["run-legal"].splitlines()
    assert ["is legal" in line for line in lines[:6]] == [True, True, False, False, False, False]
    assert [int(re.search(r"at most (\d+) B", line)[1]) for line in lines[6:]] == [16, 4, 16]  # type: ignore[index]
    assert [128 * row % 8 or 132 * row % 8 for row in range(4)] == [0, 4, 0, 4]  # "every second row"
    assert all(144 * row % 16 == 0 for row in range(32))
    assert [async_copy(width, cache="cg").legal for width in (4, 8, 16)] == [False, False, True]


def test_a_held_tile_costs_registers_and_copies_give_them_back(ran: Ran) -> None:
    rows = [line.rsplit(maxsplit=2)[1:] for line in ran.printed["run-freed"].splitlines()[1:7]]
    used = [int(count) for count, _ in rows]
    assert max(used[:3]) - min(used[:3]) <= 8  # "little to save"
    plain, held, copied = used[3:]
    assert held >= plain + 32  # a register for each of the 32 numbers, at least
    assert copied <= plain
    fits = [int(blocks) for _, blocks in rows]
    assert fits[4] < fits[3] <= fits[5]


def test_the_recorded_registers_are_those_of_the_kernels_that_the_chapter_asks_about() -> None:
    for name, (kernel, arguments) in kernels.examples().items():
        found = registers(kernel, *arguments)
        assert found.local_bytes == 0, name
        assert found.shared_bytes == profile(kernel, 1, 64, *arguments).shared_bytes


def test_a_t4_has_no_such_copy_and_an_a100_has(ran: Ran) -> None:
    t4, a100 = ran.printed["run-t4"].splitlines()
    assert "is not legal" in t4 and "7.5" in t4 and a100.endswith("is legal.")
    with_copies = {key for key, card in CARDS.items() if card.limits and card.limits.has_async_copy}
    assert {"t4", "v100"}.isdisjoint(with_copies) and {"a100-80gb", "h200", "l4"} <= with_copies


def test_without_a_gpu_the_lab_says_so(ran: Ran) -> None:
    assert ran.printed["columns-time"].count("no GPU here") == 15


def test_what_is_said_of_the_h200_is_what_it_printed(ran: Ran) -> None:
    text = measured.lab("cp_async/columns-time").text
    rates = [float(rate) for rate in re.findall(r"(\d+) GB/s", text)]
    plain, held, copied, _, eight = rates[:5]
    assert 1.05 < held / plain < 1.2 and 1 < copied / plain < 1.05
    assert "`hold_next` gains a little and `copy_next` next to nothing" in ran.prose("silicon-read")
    assert 3 < eight / plain < 4 and "more than three times as fast" in ran.prose("silicon-read")
    assert min(rates[10:]) / max(rates[10:]) > 0.85 and "nearly as good as" in ran.prose("silicon-read")
