"""The pictures of the start page: the memory pyramid and the way of a load, held to the tables they come from."""

from __future__ import annotations

import json
import re
from xml.etree import ElementTree

import pytest

from course import explore, measured
from course.cards import CARDS, card
from course.explorers._memory import PyramidExplorer
from course.figures import pyramid as figure

SVG = "{http://www.w3.org/2000/svg}"
GPUS = [key for key, one in CARDS.items() if one.kind != "cpu"]


@pytest.fixture(scope="module")
def cycles(root):
    file = root / "course" / "measured" / "h200_latency.json"
    return {row["level"]: row["cycles"] for row in json.loads(file.read_text(encoding="utf-8"))["levels"]}


def words(key):
    """The words of each level, top to bottom."""
    tree = ElementTree.fromstring(figure.pyramid_svg(CARDS[key], measured.latency()))
    return [[text.text for text in tier.iter(f"{SVG}text")] for tier in tree.iter(f"{SVG}g") if tier.get("data-tier")]


@pytest.fixture
def shown(monkeypatch):
    from course.explorers import _memory as module

    sent = []
    monkeypatch.setattr(module, "show_html", sent.append)
    monkeypatch.setattr(module, "show", lambda static, _parts: sent.append(static))
    return sent


@pytest.mark.parametrize("key", [key for key in GPUS if CARDS[key].limits])
def test_the_sizes_are_those_of_the_card_table(key):
    row = card(key)
    registers, shared, l2, dram = words(key)
    assert f"{4 * row.limits.registers_per_sm * row.multiprocessors / 2**20:.3g} MiB" in registers
    assert f"{row.limits.shared_bytes_per_sm * row.multiprocessors / 2**20:.3g} MiB" in shared
    assert f"{row.multiprocessors} SMs × 256 KiB" in registers
    assert f"{row.l2_bytes / 2**20:.3g} MiB" in l2
    assert f"{row.memory_gb} GB" in dram


def test_what_a_vendor_does_not_publish_is_said_to_be_so():
    registers, shared, l2, dram = words("m4-max")
    assert "not published" in registers and "not published" in shared and "not published" in l2
    assert "with the CPU's" in dram


def test_a_wait_is_the_measured_one_and_its_bar_as_long(cycles):
    tree = ElementTree.fromstring(figure.pyramid_svg(card("h200"), measured.latency()))
    bars = [float(bar.get("width")) for bar in tree.iter(f"{SVG}rect") if bar.get("class") == "used"]
    levels = [cycles[name] for name in ("registers", "shared", "l2", "dram")]
    for width, wait in zip(bars, levels, strict=True):
        assert width / bars[-1] == pytest.approx(wait / cycles["dram"], abs=1e-3)
    said = [int(re.search(r"(\d+) cycles", " ".join(tier)).group(1)) for tier in words("h200")]
    assert said == [5, 29, 290, 670] == [round(wait, -1 if wait >= 100 else 0) for wait in levels]


@pytest.mark.parametrize("key", GPUS)
def test_every_gpu_has_a_picture_whose_words_name_it(key):
    explorer = PyramidExplorer(card("t4"))
    explorer.card.value = key
    svg = ElementTree.fromstring(f"<p>{explorer.picture.value}</p>")[0]
    assert CARDS[key].name in svg.get("aria-label")
    assert ElementTree.fromstring(explorer.status.value).text == svg.get("aria-label")


def test_the_names_of_both_vendors_stand_side_by_side():
    rows = {row[1].text: row[2].text for row in ElementTree.fromstring(figure.names_table()).iter("tr")}
    assert rows["NVIDIA"] == "AMD"
    assert "LDS" in rows["shared memory"] and rows["block"] == "workgroup"
    assert "CU" in rows["SM (streaming multiprocessor)"] and "wavefront" in rows["warp, 32 lanes"]


def test_a_cpu_has_no_pyramid(shown):
    with pytest.raises(ValueError, match="is not a GPU: expected one of v100, t4"):
        explore.pyramid("desktop-cpu")
    explore.pyramid("t4")
    (static,) = shown
    assert "The memory pyramid of the T4" in static and "Measured on NVIDIA H200" in static


@pytest.mark.parametrize("stride", [0, 1, 2, 4, 8, 16, 33])
def test_the_three_byte_counts_on_the_way_of_a_load_are_counted_from_its_bytes(stride, shown):
    explore.way_of_a_load(stride)
    (sent,) = shown
    touched = {4 * stride * lane + byte for lane in range(32) for byte in range(4)}
    alt = re.search(r'alt="([^"]*)"', sent).group(1).replace("\N{NO-BREAK SPACE}", " ")
    assert "asks for 128 B (requested)" in alt
    assert f"L1 moves {32 * len({byte // 32 for byte in touched})} B" in alt
    assert f"DRAM moves {64 * len({byte // 64 for byte in touched})} B" in alt


def test_a_card_whose_dram_block_nobody_measured_is_refused():
    with pytest.raises(ValueError, match="T4 has no measured DRAM block"):
        explore.way_of_a_load(on="t4")


def test_the_recorded_latencies_name_card_driver_and_date():
    latency = measured.latency()
    assert list(latency.cycles) == ["registers", "shared", "l1", "l2", "dram"]
    assert list(latency.cycles.values()) == sorted(latency.cycles.values())
    for part in ("NVIDIA H200", "driver 580", "CUDA 13.0", "2026-11-30"):
        assert part in latency.source
