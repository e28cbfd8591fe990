"""The simulator, counting and checking everything, against numba's own simulator, which only computes.

Both run on this machine in this run; the ratio of their processor seconds is the result, never a time.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
from bench_kernels import launches

from course.simulator.counting import counters
from course.simulator.hazards import shadow
from course.simulator.observers import CountAndCheck
from course.simulator.source import run

AT_LEAST = {"copy 64K": 3000, "transpose 256": 3000, "tiled matmul 64": 300, "tiled matmul 128": 300}


@pytest.fixture(scope="module")
def numba_seconds():
    """Seconds of each launch in numba's simulator."""
    assert counters.COUNTING.load() and shadow.SHADOW.load()
    script = Path(__file__).with_name("bench_kernels.py")
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


@pytest.mark.slow
@pytest.mark.parametrize("name", AT_LEAST)
def test_with_every_check_on_it_outruns_numbas_simulator(name, numba_seconds):
    kernel, grid, block, arguments = launches()[name]
    best = float("inf")
    for _ in range(20):
        start = time.process_time()
        run(kernel, grid, block, arguments, observer=CountAndCheck())
        best = min(best, time.process_time() - start)
    ratio = numba_seconds[name] / best
    print(f"{name}: numba's simulator {numba_seconds[name]:.2f} s, ours {1000 * best:.2f} ms: {ratio:,.0f} times")
    assert ratio >= AT_LEAST[name]
