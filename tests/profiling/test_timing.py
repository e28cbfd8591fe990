"""Times and counters of a GPU: what is said without one. With one: `make verify-hardware`."""

from __future__ import annotations

import math

import numpy as np
import pytest

from course import backend, compare, cuda, time_on_gpu
from course.kernels.roofline import copy
from course.profiling import ncu
from course.profiling.launch_counts import METRICS
from course.profiling.timing import GpuTime


@pytest.fixture(autouse=True)
def no_gpu(monkeypatch):
    monkeypatch.setattr(backend, "_chosen", [backend.Simulator("a test")])


def test_without_a_gpu_no_time_is_made_up_and_nothing_runs():
    out = np.zeros(32, np.float32)
    taken = time_on_gpu(copy, 1, 32, np.ones(32, np.float32), out)
    assert math.isnan(taken.median_us)
    assert str(taken) == repr(taken) == f"{taken:>11}".strip() == taken.bandwidth(1e9) == "no GPU here"
    assert not out.any()


def test_a_time_shows_its_spread_and_a_bandwidth():
    taken = GpuTime(100.0, 99.0, 104.0, 180)
    assert str(taken) == "100.0 µs (99.0 to 104.0)"
    assert taken.bandwidth(4e8) == "4000 GB/s"


def test_a_comparison_predicts_every_metric_and_says_why_none_is_measured():
    table = compare(copy, 1, 32, np.ones(32, np.float32), np.zeros(32, np.float32))
    assert tuple(table.predicted) == METRICS
    assert str(table).count("no GPU here") == len(METRICS)
    with pytest.raises(ncu.NoCountersError, match="no GPU here"):
        ncu.counters(copy, 1, 32, (), METRICS)


NCU = """==PROF== Connected
"ID","Kernel Name","Metric A","Metric B"
"","","","inst"
"0","probe(Array)","1","2"
"1","take_every[abi:v1](Array)","1,024","4.5"
==PROF== Disconnected"""


def test_the_counters_of_the_kernels_own_launch_are_read():
    assert ncu._read(NCU, "take_every", ["Metric A", "Metric B"]) == {"Metric A": 1024.0, "Metric B": 4.5}


@pytest.mark.parametrize(
    ("output", "why"), [("==ERROR== ERR_NVGPUCTRPERM - no", "may not read"), ("Traceback\nValueError: x", "no launch")]
)
def test_counters_that_cannot_be_read_are_explained(output, why):
    with pytest.raises(ncu.NoCountersError, match=why):
        ncu._read(output, "take_every", ["Metric A"])


def test_an_array_travels_with_the_place_of_its_first_byte():
    whole = cuda.to_device(np.arange(100, dtype=np.float32))
    values, place = ncu._packed(_Placed(whole[3:]))
    assert place == 12
    again = ncu._unpacked((values, place))
    assert np.array_equal(again.copy_to_host(), np.arange(3, 100, dtype=np.float32))
    assert ncu._packed(7) == (7, None) and ncu._unpacked((7, None)) == 7


class _Placed:
    """A device array as numba's: its address is in the CUDA array interface."""

    def __init__(self, array):
        self._array = array
        self.__cuda_array_interface__ = {"data": (4096 + 12, False)}

    def copy_to_host(self):
        return self._array.copy_to_host()
