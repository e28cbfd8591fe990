"""Inputs that students do not get to see: seeds of the random inputs that graders draw.

Hidden tests in source/ read them from here; nothing in `course` or release/ names them. An instructor
who wants inputs of their own changes the numbers: no test depends on them.
"""

from __future__ import annotations

__all__ = ["seed"]

_SEEDS = {
    "coalescing/sectors": 730_412_559,
    "coalescing/scale": 184_467_205,
    "coalescing/wide_copy": 962_113_478,
    "coalescing/gather": 305_877_641,
    "layout/bytes_moved": 518_290_736,
    "layout/soa": 871_604_153,
    "layout/aosoa": 240_935_867,
    "layout/kv": 693_171_028,
    "tiling/conflict_degree": 428_157_093,
    "tiling/transpose": 759_310_246,
    "tiling/matmul": 136_842_975,
    "tiling/column_sums": 907_264_318,
    "tiling/barrier": 583_019_627,
    "roofline/attainable": 417_305_962,
    "roofline/ridge": 826_940_173,
    "roofline/fuse": 159_632_780,
    "occupancy/blocks_per_sm": 264_819_537,
    "cp_async/pipeline_time": 391_506_827,
    "cp_async/double_buffer": 748_213_690,
    "cp_async/stages": 605_927_418,
}


def seed(name: str) -> int:
    """Seed of the hidden inputs of one exercise, such as "coalescing/sectors"."""
    try:
        return _SEEDS[name]
    except KeyError:
        known = ", ".join(sorted(_SEEDS))
        raise KeyError(f"no hidden seed for {name!r}: expected one of {known}; or add it to _SEEDS") from None
