"""Chapter `occupancy`: every number and claim of its text, from what its cells print and what the H200 measured."""

from __future__ import annotations

import itertools
import re
from typing import Any

import numpy as np
import pytest

from course import measured
from course.cards import card, limits
from course.checks import find
from course.checks.occupancy import in_flight as in_flight_check
from course.checks.occupancy import limiter
from course.kernels import occupancy as kernels
from course.models.coalescing import coalesce, lane_addresses
from course.models.occupancy import in_flight, occupancy
from course.profiling.compiled import fingerprint, registers
from tests.chapters.chapter_run import SECTIONS, Ran


@pytest.fixture(scope="module")
def ran() -> Ran:
    return Ran("occupancy")


def test_the_chapter_has_the_sections_of_every_chapter(ran: Ran) -> None:
    text = "\n".join(cell.source for cell in ran.notebook.cells if cell.cell_type == "markdown")
    assert re.findall(r"^## (.+)$", text, re.M) == SECTIONS
    for word in ("transaction", "coalesced load", "cacheline", "thread block"):
        assert word not in text.lower()


# The question and the prediction ----------------------------------------------------------------------


def test_the_puzzle_is_there_four_times_the_bytes_in_half_as_much_time_again(ran: Ran) -> None:
    one, four = measured.bandwidth("soa1", "soa4").timings
    assert four.dram_read_mb == pytest.approx(4 * one.dram_read_mb, rel=0.01)
    assert four.time_us < 1.6 * one.time_us
    assert ran.numbers("question-table")[2] == [4, 1.5]
    assert one.dram_percent_of_peak < 40 and four.dram_percent_of_peak > 90  # time to spare; it can deliver
    assert four.occupancy_percent < 1.2 * one.occupancy_percent  # "hardly more warps"
    for run, count in ((one, 1), (four, 4)):  # every byte of every sector, whole warps
        assert run.load_sectors == count * (2**25 // 32) * coalesce(lane_addresses(), 4).sectors[0]


def test_the_text_states_what_the_cards_have(ran: Ran) -> None:
    assert limits("H200").warps_per_sm == 64
    words, sm = ran.text("budget-words"), limits("A100 80GB")
    assert f"{sm.registers_per_sm:,}" in words and f"{sm.registers_per_sm // sm.partitions_per_sm:,} in each" in words
    assert f"There are {sm.blocks_per_sm} of them" in words and f"up to {sm.threads_per_block} threads" in words
    assert f"whole units of {sm.registers_unit}" in words and f"units of {sm.shared_unit_bytes} bytes" in words
    assert f"{sm.shared_reserved_bytes_per_block} bytes besides" in words
    assert (limits("7.5").shared_unit_bytes, limits("7.5").shared_reserved_bytes_per_block) == (256, 0)


# Explore -------------------------------------------------------------------------------------------------


def test_the_budget_by_hand_is_that_of_the_model(ran: Ran) -> None:
    assert ran.numbers("budget-limits") == [[8], [32], [6], [52], [6, 48, 64, 75]]
    found, words = occupancy("A100 80GB", 256, 40, 2176), ran.text("budget-words")
    assert int(found.registers_per_block) // 8 == 1280 == 5 * 256 and 16384 / 1280 == 12.8
    assert int(found.shared_bytes_per_block) == 3200
    for said in ("2176 bytes", "3200 bytes", "= 1280", "five units", "12.8 warps", "48 of 64 warps", "75 %"):
        assert said in words


def test_the_stairs_are_where_the_text_says(ran: Ran) -> None:
    rows = {int(row[0]): row[2] for row in ran.numbers("steps-table")[1:-1]}
    assert rows[32] == 100 and rows[33] == rows[40] == 75
    assert max(count for count, share in rows.items() if share >= 50) == 64
    assert rows[255] == 12.5
    assert "cannot be launched" in ran.lines("steps-table")[-1]


def test_a_smaller_carve_out_costs_blocks(ran: Ran) -> None:
    rows = {int(re.search(r"(-?\d+) %", line).group(1)): line for line in ran.lines("carveout-table")[1:]}  # type: ignore[union-attr]
    assert "8 blocks" in rows[-1] and rows[100].split(";")[1] == rows[-1].split(";")[1]
    assert "7 blocks" in rows[25] and rows[25].split(":")[1] == rows[39].split(":")[1]


def test_the_budget_of_two_blocks_is_left_to_the_exercise(ran: Ran) -> None:
    printed = "\n".join(ran.printed.values())
    for name in ("T4", "A100 80GB", "RTX 4090", "H200"):
        sm = limits(name)
        assert str(sm.shared_bytes_per_sm // 2 - sm.shared_reserved_bytes_per_block) not in printed


def test_littles_law_gives_the_numbers_of_the_text(ran: Ran) -> None:
    waited, h200 = measured.latency(), card("H200")
    ns = 1000 * waited.cycles["dram"] / waited.sm_clock_mhz
    (clocks, mhz, said_ns), (_, gb, megabytes, kib, sms) = ran.numbers("little-numbers")
    assert (clocks, mhz, said_ns, gb, sms) == (round(waited.cycles["dram"]), 1980, round(ns), 4800, 132)
    assert megabytes == pytest.approx(ns * 4800 / 1e6, abs=0.01)
    assert kib == pytest.approx(ns * 4800 / 132 / 1024, abs=0.1)
    rows = {int(row[0]): row[1:] for row in ran.numbers("little-table")[1:]}
    assert rows[4][0] < 100  # one float is not enough, even at full occupancy
    assert rows[16][1] == rows[4][0]  # 16 bytes at a quarter do just as much
    assert float(in_flight(h200, 64, 8, ns).share) == 1


# Run it --------------------------------------------------------------------------------------------------


def test_the_copy_of_the_notebook_is_the_one_of_the_table(ran: Ran) -> None:
    for loads in kernels.WIDTHS:
        rows = np.zeros((loads, 64), np.float32)
        shown, kept = ran.space["copy_rows"](loads), kernels.copy_rows(loads)
        assert fingerprint(shown, (rows, rows)) == fingerprint(kept, (rows, rows))


def test_the_copy_is_right_and_perfectly_coalesced(ran: Ran) -> None:
    assert np.array_equal(ran.space["rows"], ran.space["out"])
    seen = ran.value["copy-profile"]
    assert seen.sectors_per_request == 4 and seen.findings == ()
    assert ran.value["copy-kernel"].local_bytes == 0  # "the compiler made registers of them"


def test_more_loads_cost_warps_and_still_win_until_the_last_step(ran: Ran) -> None:
    rows = ran.numbers("copy-table")[1:-1]
    loads, count, blocks, share, on_the_way = zip(*rows, strict=True)
    assert loads == kernels.WIDTHS
    assert share[:3] == (100, 100, 100) and list(share) == sorted(share, reverse=True) and share[-1] < 50
    assert list(on_the_way) == sorted(on_the_way)
    assert all(later > earlier for earlier, later in itertools.pairwise(on_the_way[:-1]))
    assert on_the_way[-1] == on_the_way[-2] and loads[-1] == 2 * loads[-2] and blocks[-1] == blocks[-2] / 2
    for number, registers_, blocks_, kib in zip(loads, count, blocks, on_the_way, strict=True):
        found = occupancy("H200", 256, int(registers_))
        assert int(found.blocks_per_sm) == blocks_
        assert int(found.warps_per_sm) * 128 * number == 1024 * kib


def test_equal_products_of_loads_and_blocks_have_equal_bounds(ran: Ran) -> None:
    bounds = {(row[0], row[1]): row[2] for row in ran.numbers("copy-time")[1:]}
    assert len(bounds) == 16
    for product in (1, 2, 4, 8):
        same = {bound for (loads, blocks), bound in bounds.items() if loads * blocks == product}
        assert len(same) == 1
    assert bounds[1, 1] < bounds[1, 2] < bounds[1, 4] < bounds[1, 8] <= card("H200").dram_gb_per_s
    assert ran.printed["copy-time"].count("no GPU here") == 16


def test_the_product_is_right_and_takes_40_and_72_registers(ran: Ran) -> None:
    a, b = ran.space["a"], ran.space["b"]
    seen = ran.value["product-profile"]
    assert seen.findings == () and (seen.shared_wavefronts > seen.ideal_shared_wavefronts)
    conflicts = [s for s in seen.sites if s.site.space == "shared" and s.wavefronts > s.ideal_wavefronts]
    assert len(conflicts) == 1 and conflicts[0].wavefronts == 2 * conflicts[0].ideal_wavefronts
    for side in (1, 2, 4):
        c = np.zeros((64, 64), np.float32)
        from course.simulator.source import run

        run(kernels.product(side), (4 // side, 4 // side), (16, 16), (a, b, c))
        assert np.allclose(c, a @ b, rtol=1e-4)
    rows = {int(row[0]): row[1:] for row in ran.numbers("product-table")[1:]}
    assert (rows[4][0], rows[16][0]) == (40, 72)
    assert (rows[4][3], rows[16][3]) == (75, 37.5)
    assert [rows[results][4] for results in (1, 4, 16)] == [2, 1, 0.5]  # "loads half as often"


def test_a_bound_is_free_at_first_and_then_paid_with_spills(ran: Ran) -> None:
    free, four, eight = (line.split() for line in ran.lines("bounds-table")[1:4])
    assert [free[1], four[1], eight[1]] == ["255", "64", "32"]
    assert free[3] == four[3] == "0" and int(eight[3]) > 0
    assert float(four[4].rstrip("%")) == 50 and float(eight[4].rstrip("%")) == 100 > float(free[4].rstrip("%"))
    assert all(int(taken) <= int(allowed) for _, allowed, taken, *_ in (free, four, eight))


# Fix it --------------------------------------------------------------------------------------------------


def test_the_dict_of_the_exercise_is_what_the_check_passes(ran: Ran) -> None:
    from course.checks.occupancy.blocks_per_sm import described

    assert ran.value["sm-dict"] == described("A100 80GB")
    check: Any = find("occupancy/blocks_per_sm")
    parameters = re.search(r"def blocks_per_sm\(([^)]*)\)", ran.text("blocks_per_sm-answer"))
    assert parameters is not None and parameters.group(1).split(", ") == list(check.keys)


def test_the_table_of_launches_is_that_of_the_check(ran: Ran) -> None:
    rows = re.findall(r"^\| `(\w)` \| (.+?) \| (\d+) \| (\d+) \| (\d+) B \|$", ran.text("limiter-task"), re.M)
    assert len(rows) == 6
    for name, on, threads, count, shared in rows:
        launch = limiter.LAUNCHES[name]
        assert card(launch.on).name.startswith(on)
        assert (launch.threads, launch.registers, launch.shared_bytes) == (int(threads), int(count), int(shared))


def test_the_numbers_of_the_exercise_on_bytes_are_those_of_the_check(ran: Ran) -> None:
    text = " ".join(ran.text("flight-task").split())
    assert f"{in_flight_check.ON.multiprocessors} SMs with 64 warp slots" in text
    assert f"takes {in_flight_check.LATENCY_NS} ns" in text and f"{in_flight_check.GB_PER_S} × 10⁹" in text


def test_questions_in_the_notebook_say_what_the_practice_computes(ran: Ran) -> None:
    assert "255 registers" in ran.text("further") and "64 KiB" in ran.text("p3-question")
    for said in ("96 registers", "[64][65]", "three blocks"):
        assert said in ran.text("p5-question") and said in find("occupancy/p5").statement
    rows = re.findall(r"(\d+) → (\d+)(?:, held.*?)? \| (\d+) B → (\d+) B \| (\d+) → (\d+)", ran.text("p6-question"))
    assert rows == [
        ("40", "72", "0", "0", "4", "4"),
        ("32", "32", "0", "104", "4", "4"),
        ("40", "40", "0", "0", "4", "16"),
    ]


def test_one_register_more_than_32_costs_large_blocks_more(ran: Ran) -> None:
    assert "33 registers" in ran.text("open-questions")
    assert [int(occupancy("H200", threads, 33).blocks_per_sm) for threads in (1024, 256)] == [1, 6]


# Silicon -------------------------------------------------------------------------------------------------


def test_numbas_compiler_was_content_with_fewer_registers(ran: Ran) -> None:
    assert ran.numbers("silicon-registers")[0][0] < 40
    assert all("occupancy 100 %" in line for line in ran.lines("silicon-registers"))
    assert measured.counters()["mm/T16p1"]["block"] == [16, 16]


def test_kernels_that_could_fill_all_slots_did_not(ran: Ran) -> None:
    rows = [re.findall(r"[\d.]+(?=%)", line) for line in ran.lines("silicon-achieved")[1:7]]
    assert all(float(could) == 100 > float(was) for could, was, _ in rows)
    names = [
        run.name for run in measured.bandwidth("soa1", "soa4", "copy f4", "copy f8", "copy c16", "wr stride 1").timings
    ]
    assert {measured.bandwidth(name)[name].registers_per_thread for name in names} == {16, 17}
    stores, loads = measured.bandwidth("wr stride 1", "soa1").timings
    assert stores.useful_gb_per_s == pytest.approx(loads.useful_gb_per_s, rel=0.02)
    assert loads.occupancy_percent / stores.occupancy_percent == pytest.approx(4, rel=0.15)  # four times the warps
    assert stores.occupancy_percent < 20


def test_littles_bound_holds_in_every_row_and_seven_tenths_are_reached(ran: Ran) -> None:
    rows = {
        line[:12].strip(): [float(n.rstrip("%")) for n in line[12:].split()] for line in ran.lines("silicon-little")[1:]
    }
    assert len(rows) == 6
    for name, (sectors, bound, read, share) in rows.items():
        assert read < bound
        assert (bound < 4800) == (sectors < 12)
        assert share == pytest.approx(100 * read / bound, abs=0.6)
        stride = int(name.split()[-1]) if "stride" in name else 1
        loads = 4 if name == "soa4" else 1
        assert sectors == loads * coalesce(lane_addresses(stride), 4).sectors[0]
    assert all(65 <= share <= 75 for sectors, _, _, share in rows.values() if sectors < 12)
    assert all(share > 80 for sectors, _, _, share in rows.values() if sectors >= 12)


def lab_times(name: str) -> list[float]:
    """Microseconds, line by line."""
    return [float(t) for t in re.findall(r": +([\d.]+) µs", measured.lab(f"occupancy/{name}").text)]


def test_fewer_warps_with_more_loads_copy_nearly_as_fast(ran: Ran) -> None:
    lines = measured.lab("occupancy/copy-time").text.splitlines()
    rows = {tuple(map(int, line.split()[:2])): tuple(map(int, line.split()[2:4])) for line in lines[1:]}
    assert len(rows) == 16
    predicted = {(int(row[0]), int(row[1])): row[2] for row in ran.numbers("copy-time")[1:]}
    for launch, (bound, seen) in rows.items():
        assert seen < bound == predicted[launch]
    same = [rows[loads, 8 // loads][1] for loads in (1, 2, 4, 8)]
    assert same == sorted(same, reverse=True) and same[-1] > 0.8 * same[0]  # "hardly a fifth"
    assert rows[8, 2][1] > rows[1, 8][1]  # eight loads in 16 warps, one in 64
    assert rows[8, 8][1] < max(seen for _, seen in rows.values())


def test_half_of_the_warps_multiply_more_than_twice_as_fast(ran: Ran) -> None:
    one, four, sixteen, most = lab_times("product-time")
    assert sixteen < four / 2  # 40 to 72 registers
    assert most < sixteen < one < four
    counts = [
        registers(kernels.product(side), *[np.zeros((64, 64), np.float32)] * 3, cc=(9, 0)).count for side in (2, 4, 8)
    ]
    assert counts[:2] == [40, 72]
    assert float(occupancy("H200", 256, counts[2]).occupancy) == 1 / 8
    assert "1 block, 8 of 64 warps" in ran.printed["silicon-product"]


def test_launch_bounds_made_the_product_slower_with_and_without_spills() -> None:
    free, four, eight = lab_times("bounds-time")
    assert free < 0.8 * four < four < eight


def test_occupancy_does_not_say_how_fast_a_kernel_is() -> None:
    at = {run.name: run for run in measured.bandwidth().timings}
    bare, padded = at["tr T32+0 rows8"], at["tr T32+1 rows8"]
    assert bare.occupancy_percent == pytest.approx(padded.occupancy_percent, abs=0.5) and bare.occupancy_percent > 90
    assert 1.8 < padded.useful_gb_per_s / bare.useful_gb_per_s < 2.2  # "half as fast"
    assert bare.shared_conflicts > 100 * padded.shared_conflicts
    naive, good = at["tr naive"], at["copy f4"]
    assert naive.occupancy_percent > good.occupancy_percent and naive.store_sectors == 8 * good.store_sectors
    assert at["soa4"].useful_gb_per_s > 8 * naive.useful_gb_per_s  # several times, at about the same occupancy
    assert 0.88 < at["kv mode0"].occupancy_percent / 100 < 0.9 and at["kv mode0"].dram_percent_of_peak < 12


# Go further ----------------------------------------------------------------------------------------------


def test_the_metrics_of_ncu_are_one_list(ran: Ran) -> None:
    (command,) = re.findall(r"ncu --metrics ((?:.|\n)*?) python", ran.text("measure"))
    metrics = command.replace("\\\n", "").split(",")
    assert len(metrics) == 8
    assert all(re.fullmatch(r"[a-z0-9_]+(\.[a-z_]+)*", metric) for metric in metrics)


def test_the_registers_of_a_kernel_of_your_own_are_not_made_up(ran: Ran, monkeypatch: pytest.MonkeyPatch) -> None:
    from course.languages import tools
    from course.profiling.compiled import NoRegistersError

    monkeypatch.setattr(tools, "_found", lambda: ("", "NVIDIA's compiler is not installed"))
    rows = np.zeros((5, 64), np.float32)
    with pytest.raises(NoRegistersError):
        registers(ran.space["copy_rows"](5), rows, rows, cc=(8, 7))
