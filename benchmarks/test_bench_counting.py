"""How fast lanes are counted and checked, beside the obvious way: a Python set per warp.

Run with ``pytest benchmarks/test_bench_counting.py``; the ratios of each group are what counts.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

from course.simulator.access import Access, ArrayInfo, Batch, Launch, Site
from course.simulator.counting import counters
from course.simulator.counting.counters import Counters
from course.simulator.hazards import shadow
from course.simulator.hazards.checker import Hazards

BLOCKS, THREADS = 1024, 256
LANES = BLOCKS * THREADS
SHAPE = (1, 1, BLOCKS, THREADS)
BASE = 1 << 20
LANE = np.arange(LANES, dtype=np.int64).reshape(SHAPE)
RNG = np.random.default_rng(1)
PATTERNS = {
    "full coalesced warps": LANE,
    "rows of 16 lanes": LANE % 16 + LANE // 16 * 64,
    "stride 16": LANE * 16,
    "random gather": RNG.permutation(LANES).reshape(SHAPE),
}


@pytest.fixture(autouse=True, scope="module")
def compiled() -> None:
    assert counters.COUNTING.load() and shadow.SHADOW.load()


def site(space: Any, kind: Any) -> Site:
    return Site(0, 1, 0, "x[i]", space, kind, "x", "k")


def launch(one: Site) -> Launch:
    array = ArrayInfo("x", "global", BASE, 64 * LANES, np.dtype("f4"), (16 * LANES,))
    return Launch("k", "f", (), 1, (BLOCKS, 1, 1), (THREADS, 1, 1), 32, (one,), (array,), 49152)


def python_sectors(addresses: list[int]) -> int:
    return sum(len({a // 32 for a in addresses[w : w + 32]}) for w in range(0, len(addresses), 32))


def python_wavefronts(addresses: list[int]) -> int:
    total = 0
    for warp in range(0, len(addresses), 32):
        banks: dict[int, set[int]] = {}
        for a in addresses[warp : warp + 32]:
            banks.setdefault(a // 4 % 32, set()).add(a // 4)
        total += max(map(len, banks.values()))
    return total


def measure(benchmark: Any, run: Any, peer: Any, lanes: int) -> None:
    """Time `run` on `lanes` lanes against `peer`, which is run once in the same process and does the same work."""
    started = time.perf_counter()
    expected = peer()
    peer_seconds = time.perf_counter() - started
    assert benchmark(run) == expected
    best = benchmark.stats.stats.min
    benchmark.extra_info["G lanes/s"] = round(lanes / best / 1e9, 3)
    benchmark.extra_info["times a Python set per warp"] = round(peer_seconds / best)
    print(f"{lanes / best / 1e9:.2f} G lanes/s, {peer_seconds / best:.0f} x a Python set per warp")


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.benchmark(group="global accesses")
def test_counting_global_accesses(benchmark: Any, pattern: str) -> None:
    one = site("global", "load")
    addresses = BASE + 4 * PATTERNS[pattern]
    access = Access(one, 4, addresses, None, SHAPE, 32, (0, 0, 0), 0)
    observer = Counters(64)

    def run() -> int:
        observer.begin(launch(one))
        observer.access(access)
        return observer.sites[0].sectors

    measure(benchmark, run, lambda: python_sectors(addresses.ravel().tolist()), LANES)


@pytest.mark.parametrize("whole_grid", [True, False], ids=["same in every block", "different in every block"])
@pytest.mark.benchmark(group="shared accesses")
def test_counting_shared_accesses(benchmark: Any, whole_grid: bool) -> None:
    one = site("shared", "load")
    lane = np.arange(THREADS).reshape(1, 1, 1, THREADS)
    addresses = 4 * 33 * lane if whole_grid else 4 * RNG.integers(0, 4096, SHAPE)
    access = Access(one, 4, addresses, None, SHAPE, 32, (0, 0, 0), 0)
    observer = Counters()

    def run() -> int:
        observer.begin(launch(one))
        observer.access(access)
        return observer.sites[0].wavefronts

    everything = np.broadcast_to(addresses, SHAPE).ravel().tolist()
    measure(benchmark, run, lambda: python_wavefronts(everything), LANES)


@pytest.mark.benchmark(group="race checks")
def test_checking_stores_for_races(benchmark: Any) -> None:
    one = site("global", "store")
    values = np.zeros((1, 1, 1, 1), np.float32)
    addresses = BASE + 4 * LANE
    access = Access(one, 4, addresses, None, SHAPE, 32, (0, 0, 0), 0, values)
    observer = Hazards()

    def run() -> int:
        observer.begin(launch(one))
        observer.batch(Batch((0, 0, 0), SHAPE, None))
        observer.access(access)
        return len(observer.findings)

    def peer() -> int:
        owner: dict[int, int] = {}
        return sum(owner.setdefault(a, thread) != thread for thread, a in enumerate(addresses.ravel().tolist()))

    measure(benchmark, run, peer, LANES)
