"""course.models.roofline against the two-roof definition, and against what an H200 reached."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from course import measured
from course.cards import CARDS, UNITS, card
from course.models.roofline import (
    Machine,
    attainable,
    bandwidths,
    cpu_or_gpu,
    intensity,
    machine,
    ridge,
    ridges,
    time_bounds,
)

A100 = Machine("A100 80GB", 19.5, 2000)
POSITIVE = st.floats(1e-3, 1e6)


@given(POSITIVE, POSITIVE, POSITIVE)
def test_attainable_is_the_lower_of_the_two_roofs(peak, bandwidth, at):
    roofs = Machine("any", peak, bandwidth)
    point = attainable(at, roofs)
    slope = at * bandwidth / 1000
    assert point.attainable_tflops == (slope if slope < peak else peak)
    if at < 0.999 * roofs.ridge:
        assert point.memory_bound and point.attainable_tflops < peak
    if at > 1.001 * roofs.ridge:
        assert not point.memory_bound and point.share_of_peak == 1


@given(st.lists(POSITIVE, min_size=1, max_size=9))
def test_a_sweep_is_its_single_points(points):
    together = attainable(points, A100)
    assert list(together.attainable_tflops) == [attainable(at, A100).attainable_tflops for at in points]
    assert list(together.memory_bound) == [attainable(at, A100).memory_bound for at in points]


def test_at_the_ridge_both_roofs_are_equally_high():
    for unit in ("fp32", "fp16"):
        at = ridge("A100 80GB SXM", unit)
        assert attainable(at, "A100 80GB SXM", unit).share_of_peak == pytest.approx(1)
        assert at == pytest.approx(card("a100-80gb").peak_tflops(unit) * 1e12 / 2.039e12)


def test_every_unit_with_a_peak_has_a_ridge():
    assert set(ridges("T4")) == {"fp64", "fp32", "fp16"}
    assert set(ridges("H100 SXM")) == set(UNITS)
    assert ridges("M4 Max (40-core GPU)") == {}
    with pytest.raises(ValueError, match="no known fp32 peak: unknown: Apple publishes no such figure"):
        ridge("m4-max")


def test_roofs_of_higher_levels_are_steeper():
    for name in CARDS:
        speeds = [roof.gb_per_s for roof in bandwidths(name)]
        assert speeds == sorted(speeds) and all(roof.source for roof in bandwidths(name))
    assert [roof.level for roof in bandwidths("A100 40GB")] == ["DRAM", "L2", "shared"]
    assert [roof.level for roof in bandwidths("H200")] == ["DRAM", "shared"]


def test_the_slowest_resource_bounds_the_time():
    bounds = time_bounds("A100 40GB", flop=19.5e6, dram_bytes=3110e3, l2_bytes=7219.2e3, shared_bytes=0)
    assert bounds.microseconds["arithmetic"] == pytest.approx(1)
    assert bounds.microseconds["DRAM"] == pytest.approx(2)
    assert bounds.microseconds["L2"] == pytest.approx(1)
    assert bounds.bound == "DRAM" and bounds.total_us == pytest.approx(2)
    assert str(bounds) == "At least 2 µs, bound by DRAM (arithmetic 1 µs, DRAM 2 µs, L2 1 µs, shared 0 µs)."
    sweep = time_bounds("H200", flop=[1e6, 1e12], dram_bytes=[1e6, 1e6])
    assert list(sweep.bound) == ["DRAM", "arithmetic"]


@pytest.mark.parametrize("case", measured.bandwidth().timings, ids=lambda case: case.name)
def test_no_measured_kernel_is_faster_than_the_dram_roof(case):
    moved = 1e6 * (case.dram_read_mb + case.dram_write_mb)
    assert time_bounds("H200", flop=0, dram_bytes=moved).total_us <= case.time_us


def test_a_gpu_helps_by_the_bandwidth_left_of_both_ridges_and_by_the_peak_right_of_them():
    low, high = (cpu_or_gpu(at, "A100 80GB SXM") for at in (0.1, 1e4))
    assert low.speed_up == pytest.approx(low.bandwidth_ratio) == pytest.approx(2039 / 89.6)
    assert high.speed_up == pytest.approx(high.peak_ratio) == pytest.approx(19.5 / 4.4)
    assert cpu_or_gpu(1e4, "A100 80GB SXM", unit="fp16").speed_up == pytest.approx(312 / 4.4)
    between = cpu_or_gpu(np.geomspace(0.01, 1e4, 50), "A100 80GB SXM").speed_up
    assert between.min() >= 19.5 / 4.4 - 1e-9 and between.max() <= 2039 / 89.6 + 1e-9


def test_sentences_carry_their_numbers():
    assert str(attainable(2.5, A100)) == (
        "2.5 FLOP/B on A100 80GB attains 5 of 19.5 TFLOP/s (25.6 %): memory-bound, the ridge is at 9.75."
    )
    assert str(attainable([1, 20], A100)) == "2 kernels on A100 80GB: 1 memory-bound."
    assert str(machine("H100 PCIe")) == "H100 PCIe FP32: peak 51 TFLOP/s, 2000 GB/s, ridge at 25.5 FLOP/B."
    assert str(cpu_or_gpu(0.1, A100, Machine("a desktop", 1, 50))) == (
        "A100 80GB is at most 40 times as fast as a desktop (bandwidth x 40, peak x 19.5)."
    )


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: attainable(-1, A100), ValueError, "flop_per_byte is -1: expected finite numbers of 0 or more"),
        (lambda: attainable(float("nan"), A100), ValueError, "expected finite numbers"),
        (lambda: attainable(1, "A100 80GB SXM", "fp8"), ValueError, "expected one of fp64, fp32"),
        (lambda: attainable(1, "GTX 480"), KeyError, "no card is called 'GTX 480'"),
        (lambda: Machine("none", 0, 1), ValueError, "peak_tflops is 0: expected more than 0"),
        (lambda: intensity(1, 0), ValueError, "dram_bytes is 0: expected more than 0"),
        (lambda: time_bounds("H200", flop=1, dram_bytes=1, l2_bytes=1), ValueError, "the L2 bandwidth of H200"),
        (lambda: cpu_or_gpu(0, A100), ValueError, "expected more"),
    ],
)
def test_input_that_makes_no_sense_is_refused_with_the_reason(call, error, words):
    with pytest.raises(error, match=re.escape(words)):
        call()
