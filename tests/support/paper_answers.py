"""The right answer to every question, worked out on paper from the syllabus and the lessons.

Written here and nowhere in the package, which computes them.
"""

from __future__ import annotations

from typing import Any

__all__ = ["ANSWERS", "POINTS"]

ANSWERS: dict[str, dict[str, Any]] = {
    "coalescing/q1": {
        "sectors": 32,
        "lines": 8,
        "requested_bytes": 128,
        "transferred_bytes": 1024,
        "efficiency": 0.125,
        "shape": "one lane per sector",
    },
    "coalescing/q4": {"misaligned_by": 4, "required_alignment": 16, "fixes": ["copy", "start", "prologue"]},
    "coalescing/q7": {"word_sectors": 4, "byte_sectors": 16, "layout": "planes"},
    "coalescing/q8": {"line_fraction": 0.25, "warp_stride": 4},
    "coalescing/p1": {
        "requested_bytes": 128, "transferred_bytes": 1024, "efficiency": 0.125, "line_efficiency": 4 / 128,
    },
    "coalescing/p2": {"with_sectors": 0.6, "with_blocks": 0.3},
    "coalescing/p3": {"bytes_1": 32, "bytes_2": 16, "bytes_4": 8, "bytes_16": 2},
    "coalescing/p4": {
        "half_best": 2, "float_5": "misaligned", "wide_16": "best", "float_16": "stride", "float_1": "broadcast",
    },
    "coalescing/p5": {"before": 3, "wide": 249, "after": 1, "moved": "the same"},
    "coalescing/p6": {
        "one_place": 1, "two_places": 2, "lower_half": 2, "even_lanes": 4, "constant": "one place",
    },
    "coalescing/p7": {"index_sectors": 4, "most": 32, "row_sectors": 4, "helps": ["sort", "rows"]},
    "coalescing/p8": {"block_16_16": 4, "block_4_64": 8, "block_1_256": 32, "block_33_3": 5},
    "coalescing/p9": {
        "row_sums_l1": 8, "row_sums_dram": 1, "every_eighth_dram": 8,
        "repaired": ["row sums", "byte by byte", "small table"],
    },
    "layout/q2": {
        "aos_sectors": 16, "aos_lines": 4, "soa_sectors": 4, "soa_lines": 1, "all_per_request": 16, "dram_ratio": 1,
    },
    "layout/kv_choice": {
        "values_layout": "dim last", "scores_layout": "tokens last", "byte_factor": 32, "float_factor": 8,
    },
    "layout/p1": {"record_bytes": 24, "padding_bytes": 10, "best_bytes": 16},
    "layout/p2": {"aligned_rows": 1, "pitch_elements": 1008, "padding_bytes": 28},
    "layout/p3": {"softmax_nchw": 32, "softmax_nhwc": 4, "batch_norm": "NCHW"},
    "layout/p4": {"aligned_sectors": 12, "packed_requests": 4, "packed_sectors": 48},
    "layout/p5": {"with_8_tokens": 8, "with_64_tokens": 16},
    "layout/p6": {"floats": 8, "halves": 16},
    "tiling/q5": {
        "degree": 32, "wavefronts": 32, "row_length": 33, "wavefronts_fixed": 1, "degree_36": 4, "extra_bytes": 128,
    },
    "tiling/p1": {"first": 3, "last": 2, "pad_share": 1 / 32},
    "tiling/p2": {"least": 2, "wavefronts": 32, "padded": 2},
    "tiling/p3": {"store": 1, "load": 8, "store_padded": 2, "load_padded": 2},
    "tiling/p4": {"place": "between", "transpose": 1, "product": 32},
    "tiling/p5": {"bytes_per_fma": 0.25, "intensity": 8, "shared_bytes": 8192},
    "tiling/p6": {"useful": 0.5, "naive_store": 32, "tiled_store": 4},
    "tiling/p7": {"reasons": ["conflicts", "fewer blocks", "no reuse", "barriers"]},
    "roofline/q3": {"intensity": 2.5, "attainable_tflops": 5.0, "share_of_peak": 0.256, "verdict": "memory-bound"},
    "roofline/classify": {
        "memory_bound": {"sum", "activation", "matrix times vector", "tile 64"},
        "changes": "polynomial",
    },
    "roofline/count": {
        "flop": 6, "requested_bytes": 20, "transferred_bytes": 22, "dram_bytes": 12, "intensity": 0.5,
    },
    "roofline/smallest_tile": {
        "a100": 64, "h100_sxm": 128, "rtx_4090": 512, "a100_fp16": 512, "results_per_thread": 16,
    },
    "roofline/p1": {"tflops": 1.875, "share": 0.368, "speed_up": 2.72},
    "roofline/p2": {"one": 1.0, "share": 0.00339, "batch": 296},
    "roofline/p3": {"filter": 3.57, "product": 1.84},
    "roofline/p4": {"half_the_flop": 1, "half_the_bytes": 0.5},
    "roofline/p5": {"intensity": 0.25, "attainable_tflops": 8.36, "four_by_four": 1.0},
    "occupancy/limiter": {
        "a": "registers", "b": "block slots", "c": "shared memory", "d": "warp slots", "e": "registers",
        "f": "shared memory",
    },
    "occupancy/largest_tile": {"t4": 90, "a100": 143, "rtx_4090": 111, "h200": 169},
    "occupancy/in_flight": {"needed_bytes": 1_000_000, "warps": 73, "share": 0.884736, "wide_warps": 19, "loads": 5},
    "occupancy/q6": {
        "blocks_before": 6, "blocks_after": 3, "occupancy_before": 0.75, "occupancy_after": 0.375, "half": 64,
        "explanations": ["more in flight", "fewer loads", "already hidden"],
    },
    "occupancy/p1": {"small_blocks": 8, "large_blocks": 1, "occupancy": 0.125},
    "occupancy/p2": {"blocks": 32, "occupancy": 0.5, "threads": 64},
    "occupancy/p3": {"asked_bytes": 2176, "taken_bytes": 3200, "blocks": 20},
    "occupancy/p4": {"five": 48, "eight": 32},
    "occupancy/p5": {"blocks": 2, "limiter": "registers", "registers": 80},
    "occupancy/p6": {"first": "fewer warps", "second": "spills", "third": "coalescing"},
    "cp_async/c": {
        "legal": ["4", "8", "16"], "fails": ["one byte", "twelve bytes", "sixteen bytes"], "one_buffer": 30,
        "two_buffers": 22,
    },
    "cp_async/widths": {"plain": 16, "odd": 4, "even": 8, "padded": 4, "padded_by_four": 16, "pixels": 0},
    "cp_async/p1": {"wait_1": 1, "wait_0": 3, "wait_2": 0},
    "cp_async/p2": {"two_buffers": 100, "four_buffers": 44, "enough_buffers": 4},
    "cp_async/p3": {"two_stages": 2, "four_stages": 1, "most_stages": 3},
    "cp_async/p4": {"freed": 24, "blocks_before": 3, "blocks_after": 5},
    "cp_async/p5": {"many_tiles": 4 / 3, "four_tiles": 1.6},
}  # fmt: skip
POINTS = {
    "coalescing/p7": 5,
    "coalescing/p9": 5,
    "layout/q2": 5,
    "layout/kv_choice": 4,
    "tiling/q5": 5,
    "tiling/p7": 3,
    "roofline/classify": 5,
    "roofline/count": 5,
    "roofline/smallest_tile": 5,
    "roofline/q3": 4,
    "occupancy/limiter": 3,
    "occupancy/largest_tile": 4,
    "occupancy/in_flight": 5,
    "occupancy/q6": 4,
    "coalescing/q1": 5,
    "coalescing/q4": 4,
    "coalescing/q7": 3,
    "coalescing/q8": 2,
}
"""Of the questions whose parts are not worth one point each."""
