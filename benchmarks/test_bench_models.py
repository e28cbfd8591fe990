"""How fast the models answer, beside the obvious way to compute the same in the same run.

Run with ``pytest benchmarks --benchmark-columns=min,median,rounds``; each test prints its ratio.
"""

from __future__ import annotations

import time

import numpy as np
import pytest

from course.cards import LIMITS
from course.models.coalescing import coalesce, lane_addresses
from course.models.occupancy import occupancy

WARPS = 312_500  # 10 million lanes
SAMPLE = 3_125  # warps that the obvious way gets; its time is scaled up


def with_sets(addresses: np.ndarray) -> list[int]:
    """Sectors of every warp, as one would write it down first."""
    return [len({address // 32 for address in warp}) for warp in addresses.tolist()]


@pytest.mark.parametrize("pattern", ["contiguous", "stride 3", "random"])
def test_ten_million_lane_addresses_to_sectors(benchmark, pattern, capsys):
    if pattern == "random":
        addresses = np.random.default_rng(0).integers(0, 1 << 28, (WARPS, 32)) * 4
    else:
        addresses = lane_addresses({"contiguous": 1, "stride 3": 3}[pattern], warps=WARPS)
    counted = benchmark.pedantic(coalesce, (addresses, 4), rounds=7, warmup_rounds=1)
    start = time.perf_counter()
    expected = with_sets(addresses[:SAMPLE])
    obvious = (time.perf_counter() - start) * WARPS / SAMPLE
    assert list(counted.sectors[:SAMPLE]) == expected
    ours = benchmark.stats.stats.min
    benchmark.extra_info["ratio"] = obvious / ours
    with capsys.disabled():
        print(f"\n10 M lanes, {pattern}: {ours:.3f} s, {obvious / ours:.0f} times as fast as one set a warp")
    assert obvious > 5 * ours


def test_a_million_occupancy_configurations(benchmark, capsys):
    rng = np.random.default_rng(0)
    count, sample = 1_000_000, 2_000
    asked = rng.integers(1, 1025, count), rng.integers(0, 256, count), rng.integers(0, 160_000, count)

    def blocks() -> np.ndarray:
        return occupancy("8.0", *asked).blocks_per_sm

    found = benchmark.pedantic(blocks, rounds=5, warmup_rounds=1)
    start = time.perf_counter()
    single = [one_by_one(*(int(values[i]) for values in asked)) for i in range(sample)]
    obvious = (time.perf_counter() - start) * count / sample
    assert list(found[:sample]) == single
    ours = benchmark.stats.stats.min
    benchmark.extra_info["ratio"] = obvious / ours
    with capsys.disabled():
        print(f"\n1 M occupancy configurations: {ours:.3f} s, {obvious / ours:.1f} times as fast as plain Python")
    assert obvious > ours


def one_by_one(threads: int, registers: int, shared: int) -> int:
    """The rule for one configuration of CC 8.0, in plain Python."""
    sm = LIMITS["8.0"]
    warps = -(-threads // 32)
    limits = [sm.blocks_per_sm, sm.warps_per_sm // warps]
    per_warp = -(-registers * 32 // 256) * 256
    if per_warp * -(-warps // 4) * 4 > 65536:
        return 0
    if per_warp:
        limits.append(16384 // per_warp * 4 // warps)
    allocated = -(-(shared + 1024) // 128) * 128
    if allocated > 164 * 1024:
        return 0
    limits.append(164 * 1024 // allocated)
    return min(limits)
