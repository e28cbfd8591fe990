"""Every figure of the lessons, recomputed; where a lesson is wrong, the corrected figure is the test.

The lessons are 000 (coalescing and the roofline), 001 (useful bytes), 002 (access patterns) and 003
(memory hierarchy). Their numbers are the arguments here; the models give the results.
"""

from __future__ import annotations

import numpy as np
import pytest

from course import measured
from course.cards import card
from course.models.banks import Tile, conflict_degree, wavefronts
from course.models.coalescing import MisalignedAccess, coalesce, lane_addresses, units_touched
from course.models.layout import KV_DIM_FIRST, KV_TOKENS_FIRST, Records, Tensor, struct
from course.models.occupancy import bytes_in_flight, largest_square_tile, launch_bounds, occupancy
from course.models.pipeline import async_copy, pipeline, pipeline_time
from course.models.roofline import Machine, attainable, cpu_or_gpu, intensity, machine
from course.models.tiling import arithmetic_intensity, bytes_per_fma, matmul, tile_sweep, transpose

A100 = Machine("A100 80GB", 19.5, 2000)  # the round figures of lesson 000
P = struct({"x": "f4", "y": "f4", "z": "f4", "w": "f4"})
LANE = np.arange(32)


# Occupancy --------------------------------------------------------------------------------------


def test_72_registers_give_37_5_percent_not_50():
    asked = occupancy("A100 80GB SXM", 256, 72)
    assert asked.blocks_per_sm == 3 and asked.occupancy == 0.375
    assert occupancy("A100 80GB SXM", 256, 64).occupancy == 0.5
    assert occupancy("A100 80GB SXM", 256, 65).occupancy < 0.5


def test_the_worked_budget_is_6_blocks_and_75_percent():
    budget = occupancy("A100 80GB SXM", 256, 40, 2176, carveout_percent=39)
    assert (budget.blocks_by_registers, budget.blocks_by_warps, budget.blocks_per_sm) == (6, 8, 6)
    assert budget.warps_per_sm == 48 and budget.occupancy == 0.75 and budget.limiters == ("registers",)


def test_64_kib_hold_29_blocks_of_2200_bytes_by_division_and_19_by_the_rule_not_30():
    assert 65536 // 2200 == 29
    assert occupancy("8.0", 256, 40, 2200, carveout_percent=39).blocks_by_shared == 19


def test_the_real_tile_takes_2176_bytes_which_is_30_by_division_and_20_by_the_rule():
    shared = matmul(256, 16, pad=1).shared_bytes
    assert shared == 2176 and 65536 // shared == 30
    assert occupancy("8.0", 256, 40, shared, carveout_percent=39).blocks_by_shared == 20


def test_occupancy_is_more_than_three_divisions():
    # Units and partitions: 88 registers are 2816 a warp, and each of four partitions holds 5 such warps.
    assert 65536 // (88 * 32) == 23 and occupancy("8.0", 32, 88).blocks_by_registers == 20
    # Block slots: 64 warp slots, but a T4 holds 16 blocks.
    assert occupancy("T4", 32, 32).limiters == ("blocks",)
    # The reserved KiB: 164 KiB hold 82 blocks of 2 KiB by division.
    assert 164 // 2 == 82 and occupancy("8.0", 32, 32, 2048).blocks_by_shared == 54


def test_255_registers_in_blocks_of_one_warp_give_12_5_percent():
    assert occupancy("A100 80GB SXM", 32, 255).occupancy == 0.125


def test_forcing_registers_down_raises_occupancy_and_spills():
    bound = launch_bounds("A100 80GB SXM", 256, 6, 72)
    assert bound.registers_allowed == 40 and bound.spilled_bytes_per_thread == 128
    assert (bound.before.occupancy, bound.after.occupancy) == (0.375, 0.75)


def test_an_sm_of_an_amd_card_has_128_kb_of_registers_a_simd_not_64k_registers():
    assert card("MI300X").register_bytes_per_multiprocessor == 4 * 128 * 1024


# Sectors ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stride", "sectors", "lines", "moved", "share"),
    [(1, 4, 1, 128, 1.0), (2, 8, 2, 256, 0.5), (4, 16, 4, 512, 0.25), (8, 32, 8, 1024, 0.125)],
)
def test_the_stride_table_of_lesson_000(stride, sectors, lines, moved, share):
    cost = coalesce(lane_addresses(stride), 4)
    assert (cost.sectors[0], cost.lines[0], cost.transferred_bytes[0], cost.efficiency) == (
        sectors, lines, moved, share,
    )  # fmt: skip
    assert cost.requested_bytes[0] == 128


def test_a_misaligned_base_costs_one_sector_a_request_and_no_dram_traffic_on_the_h200():
    assert [int(coalesce(lane_addresses(1, offset), 4).sectors[0]) for offset in (0, 1, 4, 8, 16)] == [4, 5, 5, 4, 4]
    at = {offset: measured.bandwidth(f"rd offset {offset}")[f"rd offset {offset}"] for offset in (0, 1, 8)}
    assert at[1].load_sectors / at[0].load_sectors == 1.25 and at[8].load_sectors == at[0].load_sectors
    assert at[1].dram_read_mb == at[0].dram_read_mb
    assert at[1].time_us == pytest.approx(at[0].time_us, rel=0.01)
    assert at[1].l2_read_sectors / at[0].l2_read_sectors == pytest.approx(1 + 1 / 32, rel=1e-3)


def test_only_a_start_that_is_not_32_byte_aligned_touches_five_sectors():
    assert [int(coalesce(lane_addresses(base=base), 4).sectors[0]) for base in (0, 32, 64, 96)] == [4] * 4
    assert coalesce(lane_addresses(base=4), 4).sectors[0] == 5


def test_the_worst_waste_is_8_times_for_floats_and_32_times_for_bytes():
    for size, worst in ((4, 8), (1, 32)):
        apart, together = (coalesce(lane_addresses(step, 0, size), size).sectors[0] for step in (128, 1))
        assert apart / together == worst


def test_stride_32_wastes_seven_eighths_not_31_of_32():
    assert 1 - coalesce(lane_addresses(32), 4).efficiency == 7 / 8


def test_four_interleaved_byte_loads_cost_16_sectors_at_l1_and_the_same_dram_bytes_as_one_float_load():
    split = [lane_addresses(4, byte, 1) for byte in range(4)]
    assert sum(int(coalesce(addresses, 1).sectors[0]) for addresses in split) == 16
    assert coalesce(lane_addresses(), 4).sectors[0] == 4
    touched = np.unique(np.concatenate([units_touched(addresses, 1) for addresses in split]))
    assert touched.size == 4
    planes = [lane_addresses(1, 32 * plane, 1) for plane in range(4)]
    assert sum(int(coalesce(addresses, 1).sectors[0]) for addresses in planes) == 4


def test_a_misaligned_float4_faults_and_does_not_fall_back():
    with pytest.raises(MisalignedAccess, match="16-byte access needs an aligned address"):
        coalesce(lane_addresses(1, 0, 16, base=4), 16)


def test_the_patterns_of_lesson_002():
    costs = {step: int(coalesce(lane_addresses(step), 4).sectors[0]) for step in (0, 1, 2, 32)}
    assert costs == {0: 1, 1: 4, 2: 8, 32: 32}
    assert coalesce(lane_addresses(element_bytes=16), 16).sectors[0] == 16  # float4: 512 B in one request


def test_the_worked_example_of_lesson_001():
    column = coalesce(lane_addresses(stride=32), 4)  # rows of 128 bytes
    assert (column.requested_bytes[0], column.transferred_bytes[0], column.efficiency) == (128, 1024, 0.125)


def test_a_cpu_that_walks_every_fourth_float_uses_a_quarter_of_each_line_as_a_warp_does():
    cpu_line = 4 / (64 / 4)
    assert cpu_line == coalesce(lane_addresses(4), 4).efficiency == 0.25


# DRAM -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stride", [1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 24, 32, 48, 64])
def test_dram_reads_on_the_h200_are_64_times_the_distinct_blocks_of_64_bytes(stride):
    case = measured.bandwidth(f"rd stride {stride}")[f"rd stride {stride}"]
    # Floats read by one warp after another start at multiples of 128 bytes: warps share no block.
    warps = case.load_sectors // int(coalesce(lane_addresses(stride), 4).sectors[0])
    blocks = int(coalesce(lane_addresses(stride), 4, unit_bytes=card("H200").dram_granule_bytes).sectors[0])
    assert warps * blocks * 64 / 1e6 == pytest.approx(case.dram_read_mb, abs=1)
    if stride >= 16:  # twice what 32 B x sectors says
        assert case.dram_read_mb == pytest.approx(2 * 32 * case.load_sectors / 1e6, abs=1)


def test_dram_bytes_go_1_2_4_8_with_the_stride_and_time_does_not():
    cases = [measured.bandwidth(f"rd stride {stride}")[f"rd stride {stride}"] for stride in (1, 2, 4, 8)]
    assert [round(case.dram_read_mb / cases[0].dram_read_mb) for case in cases] == [1, 2, 4, 8]
    assert [round(case.time_us) for case in cases] == [42, 44, 62, 119]


def test_stores_write_32_bytes_for_every_sector():
    case = measured.bandwidth("wr stride 8")["wr stride 8"]
    assert case.dram_write_mb == pytest.approx(32 * case.store_sectors / 1e6, rel=0.04)


# Layout -----------------------------------------------------------------------------------------


def test_structs_cost_16_sectors_and_arrays_4_for_one_field():
    for layout, sectors in (("aos", 16), ("soa", 4)):
        cost = Records(P, layout, 4096).traffic(["x"])
        assert cost.sectors_per_request == sectors
        assert cost.useful_bytes / cost.l1_bytes == 4 / sectors


def test_once_all_fields_are_read_dram_bytes_are_equal_so_arrays_are_not_always_better():
    structs, arrays = (Records(P, layout, 4096).traffic() for layout in ("aos", "soa"))
    assert structs.sectors_per_request == 16 and structs.dram_bytes == arrays.dram_bytes
    aos, soa = (measured.bandwidth(name)[name] for name in ("aos4 align", "soa4"))
    assert aos.dram_read_mb == soa.dram_read_mb and aos.time_us == pytest.approx(soa.time_us, rel=0.06)
    one_aos, one_soa = (measured.bandwidth(name)[name] for name in ("aos1 align", "soa1"))
    assert one_aos.dram_read_mb / one_soa.dram_read_mb == pytest.approx(4, rel=0.01)
    assert one_soa.time_us < 0.7 * one_aos.time_us


@pytest.mark.parametrize(("element", "times"), [(1, 16), (2, 16), (4, 8)])
def test_the_kv_layout_costs_16_times_only_for_small_elements(element, times):
    sizes = {"blocks": 8, "tokens": 16, "heads": 8, "dim": 128}
    good, bad = (Tensor(sizes, order, element).warp("dim").sectors[0] for order in (KV_TOKENS_FIRST, KV_DIM_FIRST))
    assert bad / good == times


# Shared memory ----------------------------------------------------------------------------------


def test_a_column_is_a_32_way_conflict_a_pad_of_one_removes_it_and_a_pad_of_four_leaves_4_way():
    assert [int(Tile(32, 32, pad).access("column").degree[0]) for pad in (0, 1, 4)] == [32, 1, 4]
    assert [int(conflict_degree(LANE * row)[0]) for row in (32, 33, 36)] == [32, 1, 4]
    assert Tile(32, 32, 1).pad_share == pytest.approx(0.03, abs=0.002)
    assert Tile(32, 32, 1).shared_bytes - Tile(32, 32).shared_bytes == 128
    assert Tile(32, 33).shared_bytes == Tile(32, 32, 1).shared_bytes == 4224


def test_a_pad_creates_a_two_way_store_conflict_in_the_16_wide_product():
    plain, padded = matmul(256, 16), matmul(256, 16, pad=1)
    assert plain.shared_store_wavefronts == plain.shared_store_requests
    assert padded.shared_store_wavefronts - plain.shared_store_wavefronts == 65536
    counted = measured.counters()
    extra = counted["mm/T16p1"]["shared_st_wavefronts"] - counted["mm/T16p0"]["shared_st_wavefronts"]
    assert extra == 65536


def test_a_k_loop_needs_two_barriers_a_step():
    assert matmul(256, 16).barriers_per_block == 2 * 16


def test_the_transposes_of_lesson_003():
    direct, tiled, padded = transpose(64, 64, tile=None), transpose(64, 64), transpose(64, 64, pad=1)
    assert direct.store_sectors == 8 * direct.load_sectors
    assert tiled.load_sectors == tiled.store_sectors == padded.store_sectors == direct.load_sectors
    assert tiled.conflicts == 31 * tiled.shared_requests and padded.conflicts == 0


def test_plus_one_is_portable_for_4_byte_accesses_and_not_for_wide_ones():
    lane = np.arange(64)
    assert wavefronts(lane % 32 * 33 * 4, 4, hardware="amd").conflicts[0] == 0
    row, column = lane % 16, lane // 16
    wide = (row * 5 + column) * 16
    assert wavefronts(wide.reshape(2, 32), 16).conflicts.sum() == 0
    assert wavefronts(wide, 16, hardware="amd").conflicts[0] > 0


# Tiling and the roofline ------------------------------------------------------------------------


def test_the_product_of_lesson_000():
    assert (bytes_per_fma(1), arithmetic_intensity(1)) == (8, 0.25)
    assert (bytes_per_fma(16), arithmetic_intensity(16)) == (0.5, 4)
    step = matmul(16, 16)  # one block, one step: 2048 bytes, 4096 multiply-adds
    assert (step.staged_bytes, step.flop // 2, step.intensity) == (2048, 4096, 4)
    assert list(arithmetic_intensity([16, 32, 64])) == [4, 8, 16]


def test_64_by_64_threads_do_not_exist_so_that_tile_needs_register_tiling():
    assert tile_sweep("A100 80GB SXM", 64).occupancy.blocks_per_sm == 0


def test_three_kernels_on_the_roofline():
    at = intensity([2, 2, 2 * 64 * 64], [12, 8, 8 * 64])
    points = attainable(at, A100)
    assert list(at) == pytest.approx([1 / 6, 0.25, 16])
    assert list(points.attainable_tflops) == pytest.approx([1 / 3, 0.5, 19.5])
    assert list(100 * points.share_of_peak) == pytest.approx([1.7, 2.6, 100], abs=0.04)
    assert list(points.memory_bound) == [True, True, False]


def test_an_intensity_of_8_attains_16_tflops_not_8():
    point = attainable(8, A100)
    assert point.attainable_tflops == 16 and point.memory_bound and 1 - 8 / A100.ridge == pytest.approx(0.18, abs=0.01)


def test_ridges_by_generation():
    assert Machine("V100", 15.7, 900).ridge == pytest.approx(17.4, abs=0.05)
    assert A100.ridge == 9.75
    assert machine("A100 40GB").ridge == pytest.approx(12.5, abs=0.05)
    assert Machine("A100 FP16", 312, 2000).ridge == 156


def test_an_h100_sxm_has_its_ridge_at_20_and_51_tflops_are_the_pcie_card_at_25_5():
    assert machine("H100 SXM").peak_tflops == 66.9 and machine("H100 SXM").ridge == pytest.approx(20.0, abs=0.05)
    assert machine("H100 PCIe").peak_tflops == 51 and machine("H100 PCIe").ridge == 25.5


def test_the_naive_product_ran_above_its_roof_because_caches_feed_it():
    reached_tflops = 1.37  # H200, N = 4096
    assert attainable(0.25, "H200").attainable_tflops == pytest.approx(1.2) and reached_tflops > 1.2


def test_a_memory_bound_kernel_gains_20_to_40_times_over_a_desktop():
    for desktop_gb_per_s, gain in ((50, 40), (100, 20)):
        assert cpu_or_gpu(0.1, A100, Machine("desktop", 2, desktop_gb_per_s)).speed_up == gain
    assert 2000 / card("M4 Max (40-core GPU)").dram_gb_per_s == pytest.approx(3.7, abs=0.1)


def test_bandwidth_needs_bytes_in_flight():
    assert bytes_in_flight([400, 800], 2000).tolist() == [800_000, 1_600_000]


def test_the_largest_tile_that_leaves_two_blocks_on_four_cards():
    tiles = {
        name: largest_square_tile(name, 2, tiles=2, pad=1, multiple_of=8) for name in ("T4", "A10", "A100 40GB", "H200")
    }
    assert tiles == {"T4": 56, "A10": 72, "A100 40GB": 96, "H200": 112}
    for name, side in tiles.items():
        assert occupancy(name, 256, 32, 2 * 4 * side * (side + 1)).blocks_per_sm >= 2
        assert occupancy(name, 256, 32, 2 * 4 * (side + 8) * (side + 9)).blocks_per_sm < 2


# Asynchronous copies ----------------------------------------------------------------------------


def test_double_buffering_takes_22_instead_of_30():
    schedule = pipeline(3, 4, 6)
    assert (schedule.total_time, schedule.serial_time) == (22, 30)
    assert [float(pipeline_time(3, 4, 6, stages)) for stages in (1, 2)] == [30, 22]


def test_cp_async_copies_4_8_or_16_bytes_to_an_address_aligned_to_the_width():
    assert [width for width in range(1, 33) if async_copy(width).legal] == [4, 8, 16]
    assert not async_copy(1).legal and not async_copy(12).legal and not async_copy(16, 8).legal
    assert [width for width in range(1, 33) if async_copy(width, cache="cg").legal] == [16]


def test_colabs_free_t4_does_not_run_the_sm_80_lab():
    assert not async_copy(16, of="T4").legal and card("T4").compute_capability == "7.5"


# The quiz ---------------------------------------------------------------------------------------


def test_quiz_1():
    cost = coalesce(lane_addresses(8), 4)
    assert (cost.sectors[0], cost.lines[0], cost.requested_bytes[0], cost.transferred_bytes[0], cost.efficiency) == (
        32, 8, 128, 1024, 0.125,
    )  # fmt: skip


def test_quiz_2():
    aos, soa = (coalesce(Records(P, layout, 32).addresses("x", LANE), 4) for layout in ("aos", "soa"))
    assert (aos.sectors[0], aos.lines[0], soa.sectors[0], soa.lines[0]) == (16, 4, 4, 1)


def test_quiz_3():
    point = attainable(intensity(20, 8), A100)
    assert (point.intensity, point.attainable_tflops, bool(point.memory_bound)) == (2.5, 5.0, True)
    assert point.share_of_peak == pytest.approx(0.256, abs=5e-4)


def test_quiz_4():
    view = lane_addresses(1, 1, 4)
    assert view[0, 0] % 16 == 4
    for start, legal in ((1, False), (2, False), (4, True), (8, True)):
        try:
            coalesce(lane_addresses(1, 0, 16, base=4 * start), 16)
        except MisalignedAccess:
            assert not legal
        else:
            assert legal


def test_quiz_5():
    before, after, wrong = (Tile(32, 32, pad).access("column") for pad in (0, 1, 4))
    assert (before.degree[0], before.wavefronts[0], after.wavefronts[0], wrong.degree[0]) == (32, 32, 1, 4)


def test_quiz_6():
    before, after = (occupancy("A100 80GB SXM", 256, registers) for registers in (40, 72))
    assert (before.blocks_per_sm, after.blocks_per_sm) == (6, 3)
    assert (before.occupancy, after.occupancy) == (0.75, 0.375)
