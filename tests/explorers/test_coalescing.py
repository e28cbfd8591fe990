"""The explorer without a browser: set a control, read the picture back, compare with a count by Python sets."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from xml.etree import ElementTree

import ipywidgets as widgets
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course import explore
from course.explorers._coalescing import CoalescingExplorer, difference
from course.explorers.access_patterns import PATTERNS, PRESETS, Access
from course.explorers.predict import Prediction
from course.models import coalescing as model


def parsed(html):
    return ElementTree.fromstring(f"<body>{html}</body>")


def numbers(html):
    """The numbers as a reader of the page finds them, by name."""
    return {dd.get("data-name"): float(dd.get("data-value")) for dd in parsed(html).iter("dd")}


def drawn_addresses(html):
    return [int(group.get("data-address")) for group in parsed(html).iter() if group.get("data-address")]


def counted(addresses, size, unit):
    """The same numbers from nothing but the bytes of the active lanes."""
    touched = [address + byte for address in addresses for byte in range(size)]
    sectors, lines = {byte // unit for byte in touched}, {byte // 128 for byte in touched}
    numbers = {
        "requests": 1 if addresses else 0,
        "active": len(addresses),
        "sectors": len(sectors),
        "lines": len(lines),
        "requested": len(addresses) * size,
        "transferred": len(sectors) * unit,
        "efficiency": len(addresses) * size / (len(sectors) * unit) if addresses else float("nan"),
    }
    if unit == 128:
        del numbers["lines"]
    return numbers


# The addresses of each preset, written out by hand: lane -> byte.
BY_HAND = {
    "contiguous": (lambda lane: 4 * lane, 4),
    "misaligned view": (lambda lane: 4 * lane + 4, 4),
    "stride 2": (lambda lane: 8 * lane, 4),
    "stride 4 (AoS .x)": (lambda lane: 16 * lane, 4),
    "column of a matrix": (lambda lane: 128 * lane, 4),
    "broadcast": (lambda lane: 0, 4),
    "reversed": (lambda lane: 4 * (31 - lane), 4),
    "bytes interleaved": (lambda lane: 4 * lane, 1),
    "bytes in planes": (lambda lane: lane, 1),
}


@pytest.mark.parametrize("name", BY_HAND)
def test_a_preset_shows_the_counts_of_its_bytes(name):
    explorer = CoalescingExplorer(Access())
    explorer.presets.value = name
    address, size = BY_HAND[name]
    addresses = [address(lane) for lane in range(32)]
    assert drawn_addresses(explorer.picture.value) == addresses
    assert numbers(explorer.picture.value) == counted(addresses, size, 32)


def test_the_random_preset_is_scattered_and_the_same_for_everybody():
    first, second = CoalescingExplorer(Access()), CoalescingExplorer(Access())
    for explorer in (first, second):
        explorer.presets.value = "random"
    addresses = drawn_addresses(first.picture.value)
    assert addresses == drawn_addresses(second.picture.value)
    assert len(set(addresses)) == 32 and max(addresses) < 4096 and min(addresses) >= 0
    assert addresses != sorted(addresses)
    assert numbers(first.picture.value) == counted(addresses, 4, 32)


def test_every_preset_has_a_test():
    assert set(PRESETS) == {*BY_HAND, "random"}


def profiled(explorer):
    """The rows of the table that "Profile this" shows: name -> (model, profile), as they stand in the page."""
    explorer.profile.button.click()
    return {
        row.get("data-row"): (float(row[1].get("data-model")), float(row[2].get("data-profile")))
        for row in parsed(explorer.profile.answer.value).iter("tr")
        if row.get("data-row")
    }


@pytest.mark.parametrize("name", PRESETS)
def test_a_kernel_with_the_access_of_a_preset_is_profiled_as_the_model_says(name):
    explorer = CoalescingExplorer(Access())
    explorer.presets.value = name
    rows = profiled(explorer)
    shown = numbers(explorer.picture.value)
    assert [model for model, _ in rows.values()] == list(shown.values())
    assert all(model == counted for model, counted in rows.values())
    assert "The model and the profile say the same." in explorer.profile.answer.value


@pytest.mark.parametrize(
    "access",
    [
        Access("random", offset=3, element_bytes=16, active=20, lanes=64, unit_bytes=128),
        Access("reversed", stride=3, offset=1, element_bytes=16, active=64, lanes=64),
        Access("reversed", stride=5, offset=2, element_bytes=8, active=31, lanes=64, unit_bytes=64),
        Access("strided", stride=3, element_bytes=16, active=9),
        Access("strided", stride=7, offset=5, element_bytes=2),
        Access("strided", stride=2, active=0),
    ],
)
def test_a_kernel_with_the_same_access_touches_the_sectors_of_its_bytes(access):
    explorer = CoalescingExplorer(Access())
    explorer.set(access)
    addresses = [int(i) * access.element_bytes for i in access.indices[: access.active]]
    true = counted(addresses, access.element_bytes, 32)
    np.testing.assert_equal([counted for _, counted in profiled(explorer).values()], list(true.values()))
    assert explorer.profile.comparison.agrees
    assert ("not units of" in explorer.profile.answer.value) == (access.unit_bytes != 32)


def test_the_profile_shows_the_line_of_the_kernel_and_the_launch():
    explorer = CoalescingExplorer(PRESETS["misaligned view"].settings)
    profiled(explorer)
    shown = "".join(parsed(explorer.profile.answer.value).itertext())
    assert "value = x[stride * i + offset]" in shown
    assert "strided[1, 32](x, out, 1, 1, 32)" in shown


def test_a_profile_of_another_setting_does_not_stay():
    explorer = CoalescingExplorer(Access())
    profiled(explorer)
    explorer.stride.value = 2
    assert (explorer.profile.answer.value, explorer.profile.comparison) == ("", None)


accesses = st.builds(
    lambda lanes, share, **rest: Access(lanes=lanes, active=share * lanes // 32, **rest),
    lanes=st.sampled_from((32, 64)),
    share=st.integers(0, 32),
    pattern=st.sampled_from(list(PATTERNS)),
    stride=st.integers(0, 64),
    offset=st.integers(0, 64),
    element_bytes=st.sampled_from(model.ACCESS_BYTES),
    unit_bytes=st.sampled_from((32, 64, 128)),
)


@pytest.fixture(scope="module")
def explorer():
    """One explorer that is set again and again, as a student does."""
    return CoalescingExplorer(Access())


@settings(max_examples=60, deadline=None)
@given(access=accesses)
def test_any_setting_shows_the_counts_of_its_bytes(explorer, access):
    explorer.set(access)
    assert explorer.settings == access
    lane = range(access.lanes)
    index = {
        "strided": [access.stride * i + access.offset for i in lane],
        "reversed": [access.stride * (access.lanes - 1 - i) + access.offset for i in lane],
        "random": [int(i) for i in access.indices],
    }[access.pattern]
    addresses = [i * access.element_bytes for i in index][: access.active]
    assert drawn_addresses(explorer.picture.value) == addresses
    shown, true = numbers(explorer.picture.value), counted(addresses, access.element_bytes, access.unit_bytes)
    np.testing.assert_equal(shown, true)  # nan equals nan


@settings(max_examples=40, deadline=None)
@given(accesses)
def test_the_expression_gives_the_index_that_each_lane_reads(access):
    index = access.expression.removeprefix("value = x[").removesuffix("]")
    table = access.indices - access.offset
    assert [eval(index, {"i": i, "table": table}) for i in range(access.lanes)] == access.indices.tolist()
    address = [eval(access.address_expression, {"i": i, "table": table}) for i in range(access.lanes)]
    assert address == access.addresses.tolist()


@pytest.mark.parametrize("part", ["source", "slider"])
def test_the_slider_and_its_number_box_always_agree(part):
    explorer = CoalescingExplorer(Access())
    for name, value in (("stride", 7), ("offset", 3), ("active", 20)):
        control = explorer.panel.controls[name]
        getattr(control, part).value = value
        assert control.source.value == control.slider.value == value
    addresses = [4 * (7 * lane + 3) for lane in range(20)]
    assert numbers(explorer.picture.value) == counted(addresses, 4, 32)


def test_reset_returns_to_where_the_explorer_started():
    explorer = CoalescingExplorer(PRESETS["stride 2"].settings)
    before = explorer.picture.value
    explorer.set(Access("random", 9, 9, 16, 40, 64, 128))
    explorer.reset.click()
    assert explorer.settings == PRESETS["stride 2"].settings
    assert explorer.picture.value == before
    assert explorer.presets.value == "stride 2"


def test_the_preset_menu_says_when_the_setting_is_your_own():
    explorer = CoalescingExplorer(Access())
    explorer.stride.value = 3
    assert explorer.presets.value == "your own setting"
    explorer.stride.value = 2
    assert explorer.presets.value == "stride 2"


def test_a_full_warp_stays_full_as_a_wavefront_and_a_part_stays_a_part():
    explorer = CoalescingExplorer(Access())
    explorer.lanes.value = 64
    assert explorer.active.value == 64
    explorer.active.value = 40
    explorer.lanes.value = 32
    assert explorer.active.value == 32
    explorer.active.value = 5
    explorer.lanes.value = 64
    assert explorer.active.value == 5


def test_one_change_draws_once():
    explorer = CoalescingExplorer(Access())
    drawn = []
    explorer.picture.observe(lambda change: drawn.append(change.new), names="value")
    explorer.set(Access("reversed", 3, 1, 8, 50, 64, 64))
    assert len(drawn) == 1
    explorer.lanes.value = 32
    assert len(drawn) == 2


def test_64_lanes_and_other_units_are_marked_as_a_model():
    explorer = CoalescingExplorer(Access(lanes=64, active=64, unit_bytes=64))
    assert "not measured" in explorer.notes.value
    assert "for comparison" in explorer.notes.value
    assert "not measured" not in CoalescingExplorer(Access()).notes.value


def test_the_live_sentence_is_the_alt_text_of_the_picture():
    explorer = CoalescingExplorer(Access())
    explorer.stride.value = 5
    (status,) = [p for p in parsed(explorer.status.value).iter() if p.get("role") == "status"]
    (image,) = [p for p in parsed(explorer.picture.value).iter() if p.get("role") == "img"]
    assert status.text == image.get("aria-label")
    assert "20 sectors in 5 lines" in status.text


def test_the_address_table_opens_follows_and_closes():
    explorer = CoalescingExplorer(Access())
    assert explorer.table_below.value == ""
    explorer.show_table.value = True
    explorer.stride.value = 6
    cells = [[cell.text for cell in row] for row in parsed(explorer.table_below.value).iter("tr")]
    assert cells[32] == ["31", str(31 * 24), str(31 * 24 // 32), str(31 * 24 // 128)]
    explorer.show_table.value = False
    assert explorer.table_below.value == ""


def test_every_control_but_the_slider_has_a_name():
    def walk(parts):
        for part in parts:
            yield part
            yield from walk(getattr(part, "children", ()))

    explorer = CoalescingExplorer(Access())
    controls = [p for p in walk(explorer.parts) if not isinstance(p, (widgets.Box, widgets.HTML, widgets.IntSlider))]
    assert len(controls) == 11
    assert all(control.description for control in controls)


def test_a_wrong_name_is_refused_with_the_right_ones():
    with pytest.raises(ValueError, match="there are: contiguous, misaligned view"):
        explore.coalescing("stride 3")
    with pytest.raises(ValueError, match="expected one of strided, reversed, random"):
        Access("diagonal")
    with pytest.raises(AttributeError, match=r"there is no explorer 'warps'; there are .*coalescing"):
        getattr(explore, "warps")  # noqa: B009


@pytest.mark.parametrize(
    ("said", "indices", "words"),
    [
        (32, range(0, 256, 8), "You said 32, and it is 32: right."),
        (8, range(0, 256, 8), "8 is the number of 128-byte lines"),
        (4, range(0, 256, 8), "would hold the requested 128 B side by side"),
        (128, range(0, 256, 8), "128 is a number of bytes"),
        (32, range(32), "lanes whose bytes lie in one sector share it"),
        (10, range(0, 256, 8), "22 more than you said"),
        (9, range(32), "5 fewer than you said"),
    ],
)
def test_a_prediction_is_answered_with_one_sentence_about_the_difference(said, indices, words):
    answer = difference(said, model.coalesce(model.index_addresses(list(indices))))
    assert words in answer
    assert answer.count(". ") == 0 and answer.endswith(".")


def test_nothing_is_revealed_before_the_commit():
    prediction = Prediction("How many < 5?", lambda number: f"<p>{number}</p>", high=99)
    prediction.box.value = 7
    assert prediction.answer.value == ""
    assert "How many &lt; 5?" in prediction.question.value
    prediction.commit.click()
    assert prediction.answer.value == "<p>7</p>"
    assert prediction.box.disabled and prediction.commit.disabled


@pytest.fixture
def displayed(monkeypatch):
    """What a call of an explorer sends to the page: a list of MIME bundles."""
    from course.explorers import display as module

    sent = []

    def capture(value, raw=False):
        sent.append(value if raw else {"text/html": value.data})

    monkeypatch.setattr(module, "display", capture)
    return sent


def widget_shown(bundle):
    model_id = bundle["application/vnd.jupyter.widget-view+json"]["model_id"]
    if widgets.__version__.startswith("7."):
        return widgets.Widget.widgets[model_id]
    from ipywidgets.widgets.widget import _instances

    return _instances[model_id]


def test_an_ordinary_picture_with_its_numbers_comes_before_the_widget(displayed):
    explore.coalescing("stride 2")
    still, live = displayed
    (image,) = parsed(still["text/html"]).iter("img")
    assert image.get("src").startswith("data:image/svg+xml;base64,")
    caption = "".join(next(parsed(still["text/html"]).iter("figcaption")).itertext())
    assert "x[2 * i]" in caption
    assert "8 sectors in 2 lines" in caption and "efficiency is 50\xa0%" in caption
    assert widget_shown(live).children


def test_a_live_widget_hides_only_the_still_picture_of_its_own_call(displayed):
    explore.coalescing()
    explore.coalescing()
    names = [parsed(still["text/html"])[0].get("class") for still in displayed[::2]]
    styles = [widget_shown(live).children[-1].value for live in displayed[1::2]]
    assert names[0] != names[1]
    for n in (0, 1):
        assert f".{names[n]}{{display:none}}" in styles[n]
        assert names[1 - n] not in styles[n]


def test_a_question_shows_its_answer_after_the_commit_only(displayed):
    explore.predict_sectors(8)
    still, live = displayed
    folded = parsed(still["text/html"])
    assert "value = x[8 * i]" in "".join(folded.find("div/p").itertext())
    assert folded.find("div/details/figure/img") is not None  # without a kernel: folded, not lost
    column = widget_shown(live)
    question, row, answer, _style = column.children
    box, commit = row.children
    assert "How many sectors" in question.value and "svg" not in question.value
    assert answer.value == ""
    box.value = 8
    commit.click()
    status = next(p for p in parsed(answer.value).iter() if p.get("role") == "status")
    assert (status.get("data-prediction"), status.get("data-truth")) == ("8", "32")
    assert status.text == "You said 8, and it is 32: 8 is the number of 128-byte lines, and a line has four sectors."
    assert numbers(answer.value)["sectors"] == 32


def test_a_question_with_addresses_below_the_array_is_refused():
    with pytest.raises(ValueError, match="Raise the offset"):
        explore.predict_sectors(-1)


def test_the_sweep_is_shown_as_an_image_with_its_sentence(displayed):
    explore.stride_sweep(8)
    (sent,) = displayed
    (image,) = parsed(sent["text/html"]).iter("img")
    assert "from 8 at stride 1 to 32 at stride 4" in image.get("alt")


def test_importing_explore_loads_no_heavy_package_until_an_explorer_is_used():
    code = (
        "import sys; from course import explore; heavy = {'ipywidgets', 'matplotlib', 'numba'};"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules);"
        "explore.coalescing; assert 'ipywidgets' in sys.modules;"
        "assert not {'matplotlib', 'numba'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_notebook_with_explorers_runs_to_its_end_without_a_word_on_stderr_and_stays_small(tmp_path: Path):
    import nbformat
    from nbclient import NotebookClient

    calls = ["coalescing()", "predict_sectors(8)", "stride_sweep()"]
    cells = ["from course import explore", *(f"explore.{call}" for call in calls)]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    NotebookClient(notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": tmp_path}}).execute()
    outputs = [output for cell in notebook.cells for output in cell.outputs]
    assert [output.output_type for output in outputs] == ["display_data"] * 5
    assert len(json.dumps([dict(output) for output in outputs])) < 90_000
    assert not re.search("Traceback|Error", json.dumps(notebook.metadata))


def test_settings_come_back_as_they_were_set():
    access = Access("reversed", 3, 2, 2, 17, 64, 128)
    explorer = CoalescingExplorer(Access())
    explorer.set(access)
    assert explorer.panel.values() == asdict(access)
