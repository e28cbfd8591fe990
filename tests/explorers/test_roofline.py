"""The roofline explorer without a browser: set a control, read the numbers back, compare with plain divisions."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, replace
from importlib import resources
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course import explore
from course.explorers import _roofline as module
from course.explorers._roofline import RooflineExplorer, difference
from course.explorers.roofline_profile import SIZE
from course.explorers.rooflines import PRESETS, Settings
from course.figures import roofline as figure

CARDS = {
    card["key"]: card for card in json.loads(resources.files("course").joinpath("cards.json").read_text())["cards"]
}
SAXPY = PRESETS["saxpy"].settings


def parsed(html):
    return ElementTree.fromstring(f"<body>{html}</body>".replace("&nbsp;", " "))


def numbers(html):
    return {dd.get("data-name"): float(dd.get("data-value")) for dd in parsed(html).iter("dd")}


def peak(key, unit):
    """The figure as it stands in the file of cards, in TFLOP/s; None where the vendor publishes none."""
    return CARDS[key][f"{unit}_tflops" if unit in ("fp64", "fp32") else f"{unit}_tensor_tflops"][0]


def divided(flop, moved, key, unit="fp32"):
    """The same numbers by hand."""
    gb_per_s, tflops = CARDS[key]["dram_gb_per_s"][0], peak(key, unit)
    attainable = min(flop / moved * gb_per_s / 1000, tflops)
    return {
        "intensity": flop / moved,
        "ridge": tflops * 1000 / gb_per_s,
        "attainable": attainable,
        "share": attainable / tflops,
        "memory-bound": float(flop * gb_per_s < moved * tflops * 1000),
    }


@pytest.fixture(scope="module")
def explorer():
    """One explorer that is set again and again, as a student does."""
    return RooflineExplorer(SAXPY)


# FLOP and bytes of each preset, by hand; the tiled products per pair of floats that a thread brings.
BY_HAND = {
    "saxpy": (2, 12),
    "copy": (0, 8),
    "20 FLOP a float": (20, 8),
    "naive matmul": (2, 8),
    "tiled matmul, T = 16": (2 * 16, 8),
    "tiled matmul, T = 32": (2 * 32, 8),
    "tiled matmul, T = 64": (2 * 64, 8),
}


@pytest.mark.parametrize("name", BY_HAND)
def test_a_preset_shows_the_numbers_of_its_flop_and_bytes(explorer, name):
    explorer.reset.click()
    explorer.presets.value = name
    assert numbers(explorer.picture.value) == pytest.approx(divided(*BY_HAND[name], "a100-80gb"))


def test_every_preset_has_a_test():
    assert set(PRESETS) == set(BY_HAND)


@pytest.mark.parametrize("name", BY_HAND)
def test_model_and_profile_of_every_preset_agree(explorer, name):
    explorer.reset.click()
    explorer.presets.value = name
    explorer.profile.button.click()
    found = explorer.profile.comparison
    assert found is not None, explorer.profile.answer.value
    assert found.agrees
    flop, moved = BY_HAND[name]
    elements = found.rows[0].profile / flop if flop else 4096
    if "matmul" in name:
        assert found.rows[0].profile == 2 * SIZE**3
    assert found.rows[1].profile == moved * elements
    assert found.profile.findings == ()


@settings(max_examples=10, deadline=None)
@given(
    flop=st.integers(0, 60), reads=st.integers(1, 8), writes=st.integers(0, 8), value_bytes=st.sampled_from([2, 4, 8])
)
def test_model_and_profile_of_any_mix_agree(explorer, flop, reads, writes, value_bytes):
    mix = Settings(flop=flop, reads=reads, writes=writes, value_bytes=value_bytes)
    explorer.set(mix)
    explorer.profile.button.click()
    found = explorer.profile.comparison
    assert found is not None and found.agrees, explorer.profile.answer.value


mixes = st.builds(
    Settings,
    card=st.sampled_from([key for key in CARDS if peak(key, "fp32")]),
    unit=st.sampled_from(["fp64", "fp32", "fp16"]),
    other=st.sampled_from(["", "h200", "desktop-cpu"]),
    flop=st.integers(0, 1024),
    reads=st.integers(1, 16),
    writes=st.integers(0, 16),
    value_bytes=st.sampled_from([2, 4, 8]),
    others=st.booleans(),
).filter(lambda mix: peak(mix.card, mix.unit))


@settings(max_examples=25, deadline=None)
@given(mixes)
def test_any_setting_shows_the_numbers_of_its_divisions(explorer, mix):
    explorer.set(mix)
    assert explorer.settings == mix
    by_hand = divided(mix.flop, mix.value_bytes * (mix.reads + mix.writes), mix.card, mix.unit)
    assert numbers(explorer.picture.value) == pytest.approx(by_hand)
    expression = re.search(r"<code>(min\(.*?\))</code>", explorer.notes.value)[1]
    assert eval(expression) == pytest.approx(by_hand["attainable"])


def test_the_unit_stays_where_the_card_has_it_and_becomes_fp32_where_not():
    explorer = RooflineExplorer(Settings(unit="fp16"))
    explorer.card.value = "h200"
    assert explorer.unit.value == "fp16"
    explorer.card.value = "desktop-cpu"
    assert explorer.unit.value == "fp32"
    assert [unit for _, unit in explorer.unit.source.options] == ["fp64", "fp32"]


def test_a_preset_leaves_the_card_as_it_is():
    explorer = RooflineExplorer(replace(SAXPY, card="h200"))
    assert explorer.presets.value == "saxpy"
    explorer.presets.value = "naive matmul"
    assert explorer.card.value == "h200"
    assert numbers(explorer.picture.value)["attainable"] == pytest.approx(1.2)
    assert explorer.presets.value == "naive matmul"


def test_reset_returns_to_where_the_explorer_started():
    start = replace(SAXPY, card="t4", flop=7)
    explorer = RooflineExplorer(start)
    before = explorer.picture.value
    explorer.set(Settings("h200", "fp16", "t4", 99, 3, 3, 8, False))
    explorer.reset.click()
    assert explorer.settings == start
    assert explorer.picture.value == before


def test_one_change_draws_once():
    explorer = RooflineExplorer(SAXPY)
    drawn = []
    explorer.picture.observe(lambda change: drawn.append(change.new), names="value")
    explorer.set(Settings("h200", "fp16", "t4", 99, 3, 3, 8, False))
    assert len(drawn) == 1
    explorer.card.value = "desktop-cpu"  # which also changes the unit
    assert len(drawn) == 2


def test_the_profile_of_a_setting_is_drawn_as_a_bar_and_forgotten_with_it():
    explorer = RooflineExplorer(PRESETS["naive matmul"].settings)
    before = explorer.picture.value
    explorer.profile.button.click()
    assert "matmul, profiled: 0.398 to 21.3 FLOP/B" in parsed(explorer.picture.value).find("img").get("alt")
    assert explorer.picture.value != before
    explorer.panel.controls["flop"].value = 3
    assert explorer.profile.answer.value == ""
    assert "profiled" not in explorer.picture.value
    explorer.panel.controls["flop"].value = 2
    assert explorer.picture.value == before


def test_the_second_card_is_set_beside_the_first():
    explorer = RooflineExplorer(replace(SAXPY, other="desktop-cpu"))
    ratio = 89.6 / 2039
    assert f"{ratio:.3g} times as much" in explorer.notes.value
    assert "and Ryzen 9 9950X FP32 (90 GB/s, 4.4 TFLOP/s" in explorer.status.value
    explorer.panel.controls["flop"].value = 0
    assert f"{ratio:.3g} times the bandwidth" in explorer.notes.value


def test_a_second_card_without_the_unit_is_shown_at_fp32_by_name():
    explorer = RooflineExplorer(Settings(unit="fp16", other="desktop-cpu"))
    assert "A100 80GB SXM FP16" in explorer.status.value and "Ryzen 9 9950X FP32" in explorer.status.value


@pytest.fixture
def displayed(monkeypatch):
    """What a call of an explorer shows: the static HTML and the widgets."""
    sent = []
    monkeypatch.setattr(module, "show", lambda static, parts: sent.append((static, parts)))
    return sent


def profiled(n=1024):
    from course.kernels.roofline import saxpy
    from course.profiling.profile import profile

    x = np.ones(n, np.float32)
    return profile(saxpy, n // 256, 256, np.float32(2), x, x.copy())


def test_the_students_own_profile_stands_on_the_roofline(displayed):
    mine = profiled()
    low, high = 2 * 1024 / mine.dram.transferred, 2 * 1024 / mine.dram.compulsory
    explore.roofline(mine, preset="naive matmul", on="H200")
    ((static, parts),) = displayed
    alt = parsed(static).find(".//img").get("alt")
    assert f"saxpy, profiled: {low:.3g} FLOP/B" in alt and low == high == 2 / 12
    assert "H200 FP32" in alt and "naive matmul: 0.25 FLOP/B" in alt
    assert "saxpy, profiled" in parts[2].value


def test_many_profiles_take_the_place_of_the_other_kernels(displayed):
    explore.roofline(*[profiled()] * 6)
    ((static, _),) = displayed
    assert static.count("saxpy, profiled") >= 6 and "Also shown" not in static


def test_a_profile_that_moves_no_byte_is_refused():
    with pytest.raises(ValueError, match="no place on a roofline"):
        module._span(type("P", (), {"kernel": "k", "arithmetic_intensity": (float("nan"), float("nan"))}))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: explore.roofline(preset="saxpi"), "there are: saxpy, copy"),
        (lambda: explore.roofline(on="desktop-cpu", unit="fp16"), "has no known fp16 peak"),
        (lambda: explore.roofline(on="M4 Max"), "no known fp32 peak"),
        (lambda: explore.predict_attainable(-1), "expected finite numbers of 0 or more"),
        (lambda: explore.predict_attainable(1, 0, 0), "expected more than 0"),
    ],
)
def test_input_that_makes_no_sense_is_refused_before_anything_is_shown(displayed, call, words):
    with pytest.raises(ValueError, match=words):
        call()
    assert displayed == []


@pytest.mark.parametrize(
    ("said", "mix", "words"),
    [
        (340, SAXPY, "You said 340, and it is 340 GFLOP/s: right."),
        (334, SAXPY, "right"),
        (19500, SAXPY, "is the peak, and DRAM cannot bring the bytes"),
        (2039, SAXPY, "is the bandwidth in GB/s"),
        (12234, SAXPY, "that is bytes per FLOP"),
        (510, SAXPY, "you counted what is read"),
        (1359, SAXPY, "you counted values; a value has 4 bytes"),
        (5, PRESETS["20 FLOP a float"].settings, "would be TFLOP/s"),
        (32624, PRESETS["tiled matmul, T = 64"].settings, "DRAM could feed 32,624, but the peak is lower"),
        (1, SAXPY, "divide FLOP by bytes"),
        (0, SAXPY, "divide FLOP by bytes"),
        (0, PRESETS["copy"].settings, "right"),
    ],
)
def test_a_prediction_is_answered_with_one_sentence_about_the_difference(said, mix, words):
    answer = difference(said, mix)
    assert words in answer
    assert answer.endswith(".") and answer.count(". ") == 0


def test_a_question_shows_its_answer_after_the_commit_only(displayed):
    explore.predict_attainable(20, 1, 1)
    ((static, parts),) = displayed
    assert parsed(static).find("details/figure/img") is not None  # without a kernel: folded, not lost
    question, row, answer = parts
    assert "does 20 FLOP" in question.value and answer.value == ""
    box, commit = row.children
    box.value = 19500
    commit.click()
    status = next(part for part in parsed(answer.value).iter() if part.get("role") == "status")
    assert (status.get("data-prediction"), status.get("data-truth")) == ("19500", "5098")
    assert numbers(answer.value) == pytest.approx(divided(20, 8, "a100-80gb"))
    assert "you said 19.5 TFLOP/s" in parsed(answer.value).find("img").get("alt")


def test_settings_come_back_as_they_were_set(explorer):
    mix = Settings("t4", "fp16", "h200", 99, 3, 3, 8, False)
    explorer.set(mix)
    assert explorer.panel.values() == asdict(mix)


def test_a_notebook_runs_to_its_end_without_a_word_on_stderr_and_stays_small(tmp_path: Path):
    import nbformat
    from nbclient import NotebookClient

    calls = ["roofline()", "predict_attainable()", "occupancy()", "predict_blocks()"]
    cells = ["from course import explore", *(f"explore.{call}" for call in calls)]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    NotebookClient(notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": tmp_path}}).execute()
    outputs = [[output.output_type for output in cell.outputs] for cell in notebook.cells]
    assert outputs == [[], *[["display_data"] * 2] * 4]
    sizes = [len(json.dumps([dict(output) for output in cell.outputs])) for cell in notebook.cells]
    assert max(sizes) < 70_000
    assert len(json.dumps(notebook)) < 4 * 100_000  # with the state of the widgets


def test_the_picture_and_the_numbers_are_one_setting(explorer):
    explorer.reset.click()
    explorer.presets.value = "tiled matmul, T = 64"
    alt = parsed(explorer.picture.value).find("img").get("alt")
    assert "tiled matmul, T = 64: 16 FLOP/B, at most 19.5 TFLOP/s, compute-bound" in alt
    (status,) = [part for part in parsed(explorer.status.value).iter() if part.get("role") == "status"]
    assert alt.startswith(status.text)


def test_every_preset_has_room_for_its_name_beside_a_profile():
    assert len(PRESETS) + 1 < figure.ROWS
