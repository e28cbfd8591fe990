"""The right answer to every row of every question whose numbers vary, from the rules of the lessons.

Worked out without the course's models, which compute the same in the package.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from course.checks import find
from course.checks.question import Question
from course.checks.registry import CHAPTERS, _variants

__all__ = ["PAPER", "ROWS", "TABLES", "question", "right"]

TABLES = {name: each.rows for chapter in CHAPTERS for name, each in _variants(chapter).items()}
ROWS = [(name, row) for name, table in TABLES.items() for row in range(len(table))]
SHARED = {"t4": (65536, 0, 256), "a100": (167936, 1024, 128), "rtx_4090": (102400, 1024, 128),
          "h200": (233472, 1024, 128)}  # fmt: skip
"""Card -> bytes of shared memory of an SM, reserved for a block, handed out in units of."""


def _q1(element: int, stride: int) -> dict[str, Any]:
    addresses = [lane * stride * element for lane in range(32)]
    sectors, lines = (len({address // unit for address in addresses}) for unit in (32, 128))
    return {"sectors": sectors, "lines": lines, "requested_bytes": 32 * element, "transferred_bytes": 32 * sectors,
            "efficiency": element / sectors, "shape": {32: "one lane per sector"}[sectors]}  # fmt: skip


def _q8(stride: int) -> dict[str, Any]:
    return {"line_fraction": 1 / stride, "warp_stride": stride}


def _q2(fields: int) -> dict[str, Any]:
    return {"aos_sectors": 4 * fields, "aos_lines": fields, "soa_sectors": 4, "soa_lines": 1,
            "all_per_request": 4 * fields, "dram_ratio": 1}  # fmt: skip


def _q5(rows: int, columns: int, pad: int) -> dict[str, Any]:
    return {"degree": math.gcd(columns, 32), "wavefronts": math.gcd(columns, 32), "row_length": columns + 1,
            "wavefronts_fixed": 1, f"degree_{columns + pad}": math.gcd(columns + pad, 32),
            "extra_bytes": rows * 4}  # fmt: skip


def _q3(reads: int, flop: int) -> dict[str, Any]:
    intensity = flop / (4 * reads + 4)
    return {"intensity": intensity, "attainable_tflops": 2 * intensity, "share_of_peak": 2 * intensity / 19.5,
            "verdict": "memory-bound" if intensity < 9.75 else "compute-bound"}  # fmt: skip


def _q6(threads: int, before: int, after: int) -> dict[str, Any]:
    def blocks(registers: int) -> int:
        return 4 * (65536 // 4 // (math.ceil(registers * 32 / 256) * 256)) // (threads // 32)

    one, other = blocks(before), blocks(after)
    return {"blocks_before": one, "blocks_after": other, "occupancy_before": one * threads / 2048,
            "occupancy_after": other * threads / 2048, "half": 64,
            "explanations": ["more in flight", "fewer loads", "already hidden"]}  # fmt: skip


def _in_flight(latency: int, gb_per_s: int) -> dict[str, Any]:
    needed = latency * gb_per_s
    return {"needed_bytes": needed, "warps": math.ceil(needed / 108 / 128), "share": 64 * 128 * 108 / needed,
            "wide_warps": math.ceil(needed / 108 / 512), "loads": math.ceil(needed / 108 / (16 * 128))}  # fmt: skip


def _largest_tile(blocks: int, element: int) -> dict[str, Any]:
    def fits(side: int, pool: int, reserved: int, unit: int) -> bool:
        return blocks * (math.ceil(side * (side + 1) * element / unit) * unit + reserved) <= pool

    return {name: max(side for side in range(1, 400) if fits(side, *of)) for name, of in SHARED.items()}


def _c(tiles: int, load: int, compute: int) -> dict[str, Any]:
    return {"legal": ["4", "8", "16"], "fails": ["one byte", "twelve bytes", "sixteen bytes"],
            "one_buffer": tiles * (load + compute),
            "two_buffers": load + (tiles - 1) * max(load, compute) + compute}  # fmt: skip


PAPER: dict[str, Callable[..., dict[str, Any]]] = {
    "coalescing/q1": _q1, "coalescing/q8": _q8, "layout/q2": _q2, "tiling/q5": _q5, "roofline/q3": _q3,
    "occupancy/q6": _q6, "occupancy/in_flight": _in_flight, "occupancy/largest_tile": _largest_tile, "cp_async/c": _c,
}  # fmt: skip


def right(name: str, row: int) -> dict[str, Any]:
    return PAPER[name](*TABLES[name][row])


def question(name: str, row: int) -> Question:
    found = find(name, row)
    assert isinstance(found, Question)
    return found
