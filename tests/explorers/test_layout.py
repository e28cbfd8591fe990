"""The layout explorer without a browser: set a control, read the page back, compare with a count of bytes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course import explore
from course.explorers._layout import LayoutExplorer, difference
from course.explorers.layouts import ABSENT, FIELD_NAMES, LAYOUTS, PRESETS, TILES, TYPES, Field, Reading
from tests.explorers.reading import controls_of, displayed, numbers, parsed, statuses, widget_shown, with_data

__all__ = ["displayed"]


def addresses(reading, name):
    """Byte of this field for every record, from the expression that the page shows."""
    at = [eval(reading.address_expression(name), {"i": i}) for i in range(32)]
    if reading.layout == "soa":  # arrays of their own, each at a multiple of 256
        before = list(reading.fields)[: list(reading.fields).index(name)]
        start = 0
        for other in before:
            start = -(-(start + 32 * reading.fields[other].size) // 256) * 256
        at = [start + byte for byte in at]
    return at


def counted(reading):
    """The numbers of the page from nothing but the bytes of each lane."""
    requests = sectors = 0
    bytes_read = set()
    for name in reading.reads:
        size = reading.fields[name].size
        at = addresses(reading, name)
        parts = [[a + b for a in at] for b in range(size)] if reading.layout == "packed" else [at]
        width = 1 if reading.layout == "packed" else size
        for part in parts:
            requests += 1
            sectors += len({(a + b) // 32 for a in part for b in range(width)})
        bytes_read |= {a + b for a in at for b in range(size)}
    moved = {byte // 32 for byte in bytes_read}
    every = {a + b for name, f in reading.fields.items() for a in addresses(reading, name) for b in range(f.size)}
    return {
        "requests": requests,
        "sectors_per_request": sectors / requests,
        "l1": 32 * sectors,
        "useful": len(bytes_read),
        "dead": 32 * len(moved) - len(bytes_read),
        "untouched": 32 * len({byte // 32 for byte in every} - moved),
        "dram": 32 * len(moved),
        "amplification": 32 * len(moved) / len(bytes_read),
    }


# requests, sectors per request, DRAM bytes: worked out on paper
BY_HAND = {
    "AoS, one field": (1, 16, 512),
    "SoA, one field": (1, 4, 128),
    "AoS, all fields": (4, 16, 512),
    "SoA, all fields": (4, 4, 512),
    "AoSoA, one field": (1, 4, 128),
    "AoSoA, tiles of 4": (1, 8, 256),
    "packed record": (4, 16, 512),
    "padding": (1, 24, 768),
    "one of six doubles": (1, 32, 1024),
    "pixels": (1, 4, 128),
}


def test_every_preset_has_a_test():
    assert set(PRESETS) == set(BY_HAND)


@pytest.mark.parametrize("name", BY_HAND)
def test_a_preset_shows_the_counts_of_its_bytes(name):
    explorer = LayoutExplorer(Reading())
    explorer.presets.value = name
    found = numbers(explorer.picture.value)
    assert found == pytest.approx(counted(PRESETS[name].settings))
    assert (found["requests"], found["sectors_per_request"], found["dram"]) == BY_HAND[name]
    assert PRESETS[name].about in "".join(parsed(explorer.notes.value).itertext())


@pytest.mark.parametrize("name", PRESETS)
def test_the_profile_of_a_preset_agrees_with_the_model(name):
    explorer = LayoutExplorer(PRESETS[name].settings)
    explorer.profile.button.click()
    assert explorer.profile.comparison is not None, statuses(explorer.profile.answer.value)
    assert explorer.profile.comparison.agrees
    assert not explorer.profile.comparison.profile.findings
    quoted = "".join(parsed(explorer.profile.answer.value).find("pre").itertext())
    assert len(quoted.splitlines()) == len(PRESETS[name].settings.reads)
    for field in PRESETS[name].settings.reads:
        assert f"{field}[" in quoted or f".{field}" in quoted


fields = st.tuples(st.sampled_from((0, *TYPES)), st.booleans()).map(lambda pair: Field(*pair))
readings = st.builds(
    Reading,
    **dict.fromkeys(FIELD_NAMES, fields),
    layout=st.sampled_from(list(LAYOUTS)),
    tile=st.sampled_from(TILES),
)


@pytest.fixture(scope="module")
def explorer():
    return LayoutExplorer(Reading())


@settings(max_examples=80, deadline=None)
@given(reading=readings)
def test_any_setting_shows_the_counts_of_its_bytes(explorer, reading):
    explorer.set(reading)
    assert explorer.settings == reading
    if not reading.fields:
        assert statuses(explorer.status.value) == ["The record has no field. Choose a type for one or more."]
    elif not reading.reads:
        assert numbers(explorer.picture.value) == {"requests": 0}
    else:
        assert numbers(explorer.picture.value) == pytest.approx(counted(reading))
        boxes = {
            (box.get("data-field"), int(box.get("data-byte"))) for box in with_data(explorer.picture.value, "field")
        }
        for name in reading.reads:
            assert {(f"{name}{i}", a) for i, a in enumerate(addresses(reading, name))} <= boxes


@settings(max_examples=15, deadline=None)
@given(readings)
def test_the_profile_of_any_setting_that_numba_accepts_agrees(reading):
    explorer = LayoutExplorer(reading)
    explorer.profile.button.click()
    if not reading.reads:
        assert "choose one or more" in statuses(explorer.profile.answer.value)[0]
    elif reading.layout == "packed" and reading.misaligned:
        assert "is not aligned" in statuses(explorer.profile.answer.value)[0]
        assert "numba refuses to read" in explorer.notes.value
    else:
        assert explorer.profile.comparison is not None, statuses(explorer.profile.answer.value)
        assert explorer.profile.comparison.agrees, explorer.profile.comparison.rows


@pytest.mark.parametrize("layout", ["aos", "packed"])
def test_records_lie_as_numpy_lays_them_out(layout):
    reading = Reading(Field(1, True), Field(8, True), Field(2, False), Field(4, True), layout=layout)
    dtype = np.dtype([(n, TYPES[f.size]) for n, f in reading.fields.items()], align=layout == "aos")
    for name in reading.reads:
        offset = dtype.fields[name][1]
        assert addresses(reading, name) == [i * dtype.itemsize + offset for i in range(32)]


def test_an_index_into_a_tile_leads_to_the_byte_that_the_page_names():
    reading = Reading(Field(1, True), Field(8, True), Field(2, True), Field(4, True), layout="aosoa", tile=8)
    for name, field in reading.fields.items():
        index = reading.expression(name).removeprefix(f"{name}[").removesuffix("]")
        elements = [eval(index, {"i": i}) for i in range(32)]
        assert [field.size * element for element in elements] == addresses(reading, name)


def test_the_table_says_how_each_field_is_read():
    explorer = LayoutExplorer(PRESETS["AoS, all fields"].settings)
    rows = [[cell.text for cell in row] for row in parsed(explorer.notes.value).iter("tr")]
    assert rows[0] == ["Field", "In a kernel", "Byte of lane i", "Requests", "Sectors per request"]
    assert rows[4] == ["w", "p[i].w", "16 * i + 12", "1", "16"]


def test_the_parts_of_a_field_and_its_value_always_agree():
    explorer = LayoutExplorer(Reading())
    control = explorer.panel.controls["y"]
    control.read.value = True
    assert explorer.settings.y == Field(4, True)
    control.size.value = 8
    assert explorer.settings.y == Field(8, True)
    explorer.set(Reading(y=ABSENT))
    assert (control.size.value, control.read.value) == (0, False)


def test_one_change_draws_once():
    explorer = LayoutExplorer(Reading())
    drawn = []
    explorer.picture.observe(lambda change: drawn.append(change.new), names="value")
    explorer.set(Reading(Field(8, False), Field(1, True), layout="soa", tile=4))
    assert len(drawn) == 1
    explorer.panel.controls["z"].read.value = True
    assert len(drawn) == 2


def test_only_tiles_of_arrays_have_a_tile():
    explorer = LayoutExplorer(Reading())
    assert explorer.tile.source.disabled
    explorer.presets.value = "AoSoA, tiles of 4"
    assert not explorer.tile.source.disabled


def test_reset_returns_to_where_the_explorer_started():
    explorer = LayoutExplorer(PRESETS["pixels"].settings)
    before = explorer.picture.value
    explorer.presets.value = "one of six doubles"
    explorer.reset.click()
    assert explorer.picture.value == before and explorer.presets.value == "pixels"


def test_the_live_sentence_is_the_alt_text_of_the_picture():
    explorer = LayoutExplorer(Reading())
    (image,) = (part for part in parsed(explorer.picture.value).iter() if part.get("role") == "img")
    assert statuses(explorer.status.value) == [image.get("aria-label")]


def test_every_control_has_a_name_of_its_own():
    names = [control.description for control in controls_of(LayoutExplorer(Reading()))]
    assert all(names) and len(set(names)) == len(names)


def test_wrong_words_are_refused_with_the_right_ones():
    with pytest.raises(ValueError, match="there are: AoS, one field"):
        explore.layout("AoS")
    with pytest.raises(ValueError, match='expected "aos", "soa" or "aosoa"'):
        explore.predict_field_sectors(layout="packed")
    with pytest.raises(ValueError, match="expected one of the fields, x, y, z, w"):
        explore.predict_field_sectors(read="mass")
    with pytest.raises(ValueError, match="expected names from x, y, z, w, u, v and types from uint8"):
        explore.predict_field_sectors({"x": "float32", "mass": "float32"})
    with pytest.raises(ValueError, match="expected them in the order"):
        explore.predict_field_sectors({"y": "float32", "x": "float32"})
    with pytest.raises(ValueError, match="expected one of 4, 8, 16, 32"):
        explore.predict_field_sectors(layout="aosoa", tile=5)
    with pytest.raises(ValueError, match="expected one of aos, packed, soa, aosoa"):
        Reading(layout="columns")


@pytest.mark.parametrize(
    ("said", "reading", "words"),
    [
        (16, Reading(), "right"),
        (4, Reading(), "4 would do if the values of this field were neighbours"),
        (128, Reading(), "128 is a number of bytes"),
        (32, Reading(), "there are 32 lanes, but"),
        (16, Reading(layout="soa"), "16 hold all fields of the 32 records"),
        (48, PRESETS["one of six doubles"].settings, "48 hold all fields"),
        (1, Reading(layout="soa"), "1 is the number of 128-byte lines"),
        (7, Reading(), "9 more than you said"),
        (17, Reading(), "1 fewer than you said"),
    ],
)
def test_a_prediction_is_answered_with_one_sentence_about_the_difference(said, reading, words):
    answer = difference(said, reading.records, reading.traffic(*reading.reads))
    assert words in answer and answer.startswith(f"You said {said}, and it is ")
    assert answer.count(". ") == 0 and answer.endswith(".")


def test_the_still_picture_comes_first_and_then_the_widget(displayed):
    explore.layout("one of six doubles")
    still, live = displayed
    (image,) = parsed(still).iter("img")
    assert image.get("src").startswith("data:image/svg+xml;base64,")
    caption = "".join(next(parsed(still).iter("figcaption")).itertext())
    assert "1 request with 32 sectors" in caption and "p[i].x" in caption
    assert widget_shown(live).children
    assert len(still) + len(widget_shown(live).children[2].value) < 100_000


def test_a_question_shows_its_answer_after_the_commit_only(displayed):
    explore.predict_field_sectors({"x": "float32", "y": "float64"}, "y")
    still, live = displayed
    question, row, answer, _style = widget_shown(live).children
    assert "x (float32) and y (float64)" in question.value and "svg" not in question.value
    assert parsed(still).find("div/details/figure/img") is not None
    box, commit = row.children
    box.value = 8
    commit.click()
    assert statuses(answer.value)[0].startswith("You said 8, and it is 16: 8 would do if")
    assert numbers(answer.value)["sectors_per_request"] == 16
