"""course.cards: figures that agree with each other, sources for all of them, names that are found."""

from __future__ import annotations

import dataclasses
import json
import re
import subprocess
import sys
from importlib import resources

import pytest

from course.cards import CARDS, LIMITS, UNITS, Card, SmLimits, card, limits

FIGURES = [one.name for one in dataclasses.fields(Card) if one.name not in ("key", "name", "kind", "sources")]
NVIDIA = [one for one in CARDS.values() if one.limits]


@pytest.mark.parametrize("one", CARDS.values(), ids=CARDS)
def test_every_figure_has_a_source_and_every_missing_one_a_reason(one):
    assert set(one.sources) == set(FIGURES)
    for figure in FIGURES:
        unknown = getattr(one, figure) is None
        reason = re.match("unknown: |none: |depends on |NVIDIA's occupancy rules do not apply", one.source(figure))
        assert unknown == bool(reason), (figure, one.source(figure))


def test_every_limit_has_a_source():
    for figure in dataclasses.fields(SmLimits):
        assert len(limits("8.0").source(figure.name)) > 10


@pytest.mark.parametrize("one", [one for one in CARDS.values() if one.fp32_tflops], ids=lambda one: one.key)
def test_the_fp32_peak_is_two_flop_a_lane_and_clock(one):
    computed = one.multiprocessors * one.fp32_lanes_per_multiprocessor * 2 * one.clock_mhz / 1e6
    assert one.fp32_tflops == pytest.approx(computed, rel=0.01)


@pytest.mark.parametrize("one", NVIDIA, ids=lambda one: one.key)
def test_the_fp64_peak_is_that_of_the_lanes_of_the_compute_capability(one):
    computed = one.multiprocessors * one.limits.fp64_lanes_per_sm * 2 * one.clock_mhz / 1e6
    assert one.fp64_tflops == pytest.approx(computed, rel=0.02)


@pytest.mark.parametrize("sm", LIMITS.values(), ids=LIMITS)
def test_the_limits_of_a_compute_capability_fit_together(sm):
    assert sm.shared_bytes_per_block_opt_in + sm.shared_reserved_bytes_per_block == sm.shared_bytes_per_sm
    assert max(sm.carveouts_kib) * 1024 == sm.shared_bytes_per_sm < sm.l1_and_shared_bytes_per_sm
    assert list(sm.carveouts_kib) == sorted(sm.carveouts_kib)
    assert sm.threads_per_sm in (1024, 1536, 2048) and sm.threads_per_block <= sm.threads_per_sm
    assert sm.has_async_copy == (sm.compute_capability not in ("7.0", "7.5"))


def test_the_cards_of_the_syllabus_are_here():
    assert {
        "v100", "t4", "a100-40gb", "a100-80gb", "a10", "l4", "rtx-3090", "rtx-4090", "rtx-5090", "h100-pcie",
        "h100-sxm", "h200", "b200", "mi300x", "m4-max", "desktop-cpu", "server-cpu",
    } == set(CARDS)  # fmt: skip
    assert {one.limits.compute_capability for one in NVIDIA} == set(LIMITS)


def test_only_the_card_it_was_measured_on_has_a_dram_granule():
    assert {key: one.dram_granule_bytes for key, one in CARDS.items() if one.dram_granule_bytes} == {"h200": 64}


def test_every_source_of_the_table_is_used():
    content = json.loads(resources.files("course").joinpath("cards.json").read_text(encoding="utf-8"))
    used = {value[1] for row in content["cards"] for value in row.values() if isinstance(value, list)}
    assert used == set(content["sources"])


def test_a_card_is_found_by_its_key_its_name_and_loose_spelling():
    assert (
        card("a100-80gb")
        is card("A100 80GB SXM")
        is card("A100-80GB")
        is card("a100 80gb sxm")
        is card(card("a100-80gb"))
    )
    assert limits("T4") is limits("7.5") is limits(card("t4")) is LIMITS["7.5"]


def test_peaks_and_ridges_by_unit():
    a100 = card("a100-80gb")
    assert [a100.peak_tflops(unit) for unit in UNITS] == [9.7, 19.5, 156, 312, 312]
    assert a100.ridge("fp16") == pytest.approx(312e12 / 2039e9)


def test_levels_above_dram_are_faster_than_dram():
    for one in CARDS.values():
        for faster in (one.l2_gb_per_s, one.shared_gb_per_s):
            assert faster is None or faster > one.dram_gb_per_s


def test_sentences_carry_their_numbers():
    assert str(card("h100-sxm")) == (
        "H100 SXM (CC 9.0): 66.9 TFLOP/s FP32, 3350 GB/s of DRAM bandwidth, ridge 20 FLOP/B."
    )
    assert str(card("m4-max")) == "M4 Max (40-core GPU): an unpublished FP32 peak, 546 GB/s of DRAM bandwidth."
    assert str(limits("7.5")) == (
        "An SM of compute capability 7.5 holds 16 blocks, 32 warps, 65536 registers and 64 KiB of shared memory "
        "at most."
    )


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: card("A100"), KeyError, "Did you mean a100-40gb or a100-80gb?"),
        (lambda: card("H800"), KeyError, "no card is called 'H800': expected one of v100, t4"),
        (lambda: limits("6.1"), KeyError, "compute capability 6.1 is not in the table: expected one of 7.0"),
        (lambda: limits("desktop-cpu"), ValueError, "do not apply to this processor"),
        (lambda: card("t4").source("price"), KeyError, "'price' is no figure of a card"),
        (lambda: limits("8.0").source("price"), KeyError, "'price' is no limit of an SM"),
        (lambda: card("t4").peak_tflops("int8"), ValueError, "expected one of fp64, fp32"),
        (lambda: card("t4").peak_tflops("bf16"), ValueError, "no known bf16 peak: none: this generation"),
    ],
)
def test_input_that_makes_no_sense_is_refused_with_the_reason(call, error, words):
    with pytest.raises(error, match=re.escape(words)):
        call()


def test_the_models_load_no_heavy_package():
    models = ["banks", "coalescing", "layout", "occupancy", "pipeline", "roofline", "tiling"]
    code = f"import sys; from course.models import {', '.join(models)}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"numba", "matplotlib", "ipywidgets"} & set(done.stdout.split())
