"""The banks explorer without a browser: set a control, read the page back, compare with a count by Python sets."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course import explore
from course.explorers._banks import BanksExplorer, difference
from course.explorers.shared_accesses import PATTERNS, PRESETS, TYPES, SharedAccess
from tests.explorers.reading import controls_of, displayed, numbers, parsed, statuses, widget_shown, with_data

__all__ = ["displayed"]


def counted(elements, size, kind):
    """Wavefronts, ideal and degree of lanes that want these elements (index by lane), by the measured rule."""
    lanes_of_a_group = 32 if size <= 4 else 128 // size
    if kind == "load" and size > 4 and (pairs_agree(elements, 1) or pairs_agree(elements, 2)):
        lanes_of_a_group *= 2
    passes = []
    for start in range(0, 32, lanes_of_a_group):
        words = {
            (index * size + byte) // 4 for index in elements[start : start + lanes_of_a_group] for byte in range(size)
        }
        if words:
            passes.append(max(sum(word % 32 == bank for word in words) for bank in range(32)))
    return {"wavefronts": sum(passes), "ideal": len(passes), "degree": max(passes, default=0)}


def pairs_agree(elements, distance):
    lanes = range(len(elements))
    return all(elements[n] == elements[n ^ distance] for n in lanes if n ^ distance in lanes)


def shown(explorer):
    found = numbers(explorer.picture.value)
    return {name: found[name] for name in ("wavefronts", "ideal", "degree")}


# The element of each lane, written out by hand, and what the chapter says that it costs.
BY_HAND = {
    "column of [32][32]": (lambda i: 32 * i, 4, "load", 32),
    "column of [32][33]": (lambda i: 33 * i, 4, "load", 1),
    "column of [32][36]": (lambda i: 36 * i, 4, "load", 4),
    "row of [32][32]": (lambda i: i, 4, "load", 1),
    "diagonal": (lambda i: 33 * i, 4, "load", 1),
    "broadcast": (lambda i: 0, 4, "load", 1),
    "stride 2": (lambda i: 2 * i, 4, "load", 2),
    "stride 3": (lambda i: 3 * i, 4, "load", 1),
    "16 x 16 block, tile [16][16]": (lambda i: i, 4, "store", 1),
    "16 x 16 block, tile [16][17]": (lambda i: i + i // 16, 4, "store", 2),
    "row of float64": (lambda i: i, 8, "load", 2),
    "column of float64": (lambda i: 32 * i, 8, "load", 32),
    "column of float64, pad 1": (lambda i: 33 * i, 8, "load", 2),
    "row of complex128": (lambda i: i, 16, "load", 4),
    "float64 broadcast load": (lambda i: 0, 8, "load", 1),
    "row of bytes": (lambda i: i, 1, "load", 1),
}


def test_every_preset_has_a_test():
    assert set(PRESETS) == set(BY_HAND)


@pytest.mark.parametrize("name", BY_HAND)
def test_a_preset_shows_the_counts_of_its_words(name):
    explorer = BanksExplorer(SharedAccess())
    explorer.presets.value = name
    element, size, kind, wavefronts = BY_HAND[name]
    elements = [element(lane) for lane in range(32)]
    assert shown(explorer) == counted(elements, size, kind)
    assert shown(explorer)["wavefronts"] == wavefronts
    assert PRESETS[name].about in "".join(parsed(explorer.notes.value).itertext())


@pytest.mark.parametrize("name", PRESETS)
def test_the_profile_of_a_preset_agrees_with_the_model(name):
    explorer = BanksExplorer(PRESETS[name].settings)
    explorer.profile.button.click()
    assert explorer.profile.comparison is not None, statuses(explorer.profile.answer.value)
    assert explorer.profile.comparison.agrees
    assert not explorer.profile.comparison.profile.findings
    (row,) = (r for r in parsed(explorer.profile.answer.value).iter("tr") if r.get("data-row") == "Wavefronts")
    profile = next(float(cell.get("data-profile")) for cell in row if cell.get("data-profile"))
    assert profile == BY_HAND[name][3]


accesses = st.builds(
    SharedAccess,
    pattern=st.sampled_from(list(PATTERNS)),
    rows=st.integers(1, 64),
    columns=st.integers(1, 64),
    pad=st.integers(0, 8),
    element_bytes=st.sampled_from(list(TYPES)),
    step=st.integers(0, 64),
    kind=st.sampled_from(("load", "store")),
    active=st.integers(0, 32),
)


def elements_of(access):
    """Element of each lane that takes part, from the words of the chapter."""
    pitch = access.columns + access.pad
    if access.pattern == "stride":
        return [access.step * i for i in range(access.active)]
    inside = range(min(access.active, access.rows * access.columns if access.pattern != "diagonal" else 32))
    return {
        "row": [i // access.columns * pitch + i % access.columns for i in inside],
        "column": [i % access.rows * pitch + i // access.rows for i in inside],
        "diagonal": [i % access.rows * pitch + i % access.columns for i in inside],
    }[access.pattern]


@pytest.fixture(scope="module")
def explorer():
    """One explorer that is set again and again, as a student does."""
    return BanksExplorer(SharedAccess())


@settings(max_examples=80, deadline=None)
@given(access=accesses)
def test_any_setting_shows_the_counts_of_its_words(explorer, access):
    explorer.set(access)
    assert explorer.settings == access
    elements = elements_of(access)
    assert shown(explorer) == counted(elements, access.element_bytes, access.kind)
    words = {(e * access.element_bytes + b) // 4 for e in elements for b in range(access.element_bytes)}
    found = numbers(explorer.picture.value)
    assert (found["words"], found["banks"]) == (len(words), len({word % 32 for word in words}))
    served = [lane for box in with_data(explorer.picture.value, "lanes") for lane in box.get("data-lanes").split()]
    assert sorted(map(int, served)) == list(range(len(elements)))


@settings(max_examples=40, deadline=None)
@given(accesses)
def test_the_expression_gives_the_element_that_each_lane_wants(access):
    index = access.expression.replace("value", "").strip(" =").removeprefix("t")
    pitch = access.tile.columns + access.tile.pad
    for i, element in enumerate(elements_of(access)):
        row, column = eval(index.replace("[", "(").replace("]", ")"), {"i": i})
        assert row * pitch + column == element


def test_the_table_lists_word_and_bank_of_every_lane():
    explorer = BanksExplorer(SharedAccess(pad=1, active=31))
    assert explorer.table_below.value == ""
    explorer.show_table.value = True
    rows = [[cell.text for cell in row] for row in parsed(explorer.table_below.value).iter("tr")]
    assert rows[0] == ["Lane", "Row", "Column", "Address", "First word", "Its bank", "Group"]
    assert rows[6] == ["5", "5", "0", str(5 * 33 * 4), str(5 * 33), str(5 * 33 % 32), "0"]
    assert rows[32][:2] == ["31", "inactive"]
    explorer.show_table.value = False
    assert explorer.table_below.value == ""


def test_only_controls_that_mean_something_can_be_moved():
    explorer = BanksExplorer(SharedAccess())
    on = {name: not number.source.disabled for name, number in explorer.numbers.items()}
    assert on == {"rows": True, "columns": True, "pad": True, "step": False}
    explorer.presets.value = "stride 3"
    on = {name: not number.source.disabled for name, number in explorer.numbers.items()}
    assert on == {"rows": False, "columns": False, "pad": False, "step": True}


def test_reset_returns_to_where_the_explorer_started():
    explorer = BanksExplorer(PRESETS["stride 2"].settings)
    before = explorer.picture.value
    explorer.set(SharedAccess("row", 9, 9, 3, 16, 5, "store", 7))
    explorer.reset.click()
    assert explorer.picture.value == before and explorer.presets.value == "stride 2"


def test_one_change_draws_once():
    explorer = BanksExplorer(SharedAccess())
    drawn = []
    explorer.picture.observe(lambda change: drawn.append(change.new), names="value")
    explorer.set(SharedAccess("row", 9, 9, 3, 16, 5, "store", 7))
    assert len(drawn) == 1


def test_a_profile_of_another_setting_does_not_stay():
    explorer = BanksExplorer(SharedAccess())
    explorer.profile.button.click()
    assert "The model and the profile say the same." in statuses(explorer.profile.answer.value)
    explorer.numbers["pad"].value = 1
    assert explorer.profile.answer.value == ""


def test_the_live_sentence_is_the_alt_text_of_the_picture():
    explorer = BanksExplorer(SharedAccess(pad=4))
    (image,) = (part for part in parsed(explorer.picture.value).iter() if part.get("role") == "img")
    assert statuses(explorer.status.value) == [image.get("aria-label")]
    assert "4 wavefronts where 1 would do, a 4-way bank conflict" in image.get("aria-label")


def test_what_was_not_measured_is_said():
    assert "not measured" in BanksExplorer(SharedAccess(element_bytes=2)).notes.value
    assert "not measured" not in BanksExplorer(SharedAccess()).notes.value


def test_every_control_has_a_name():
    assert all(control.description for control in controls_of(BanksExplorer(SharedAccess())))


def test_wrong_words_are_refused_with_the_right_ones():
    with pytest.raises(ValueError, match="there are: column of "):
        explore.banks("column")
    with pytest.raises(ValueError, match="expected one of row, column, diagonal, stride"):
        explore.predict_wavefronts(pattern="spiral")
    with pytest.raises(ValueError, match='expected "load" or "store"'):
        explore.predict_wavefronts(kind="read")
    with pytest.raises(ValueError, match="expected 1, 2, 4, 8 or 16"):
        explore.predict_wavefronts(element_bytes=3)


@pytest.mark.parametrize(
    ("said", "access", "words"),
    [
        (32, SharedAccess(), "right"),
        (1, SharedAccess(), "1 would do without conflicts"),
        (31, SharedAccess(), "31 are extra"),
        (32, SharedAccess(pad=4), "32 lanes take part, but different banks deliver at the same time"),
        (8, SharedAccess(pad=4), "8 banks are at work, but all at once"),
        (16, SharedAccess(element_bytes=8), "16 is what one group of lanes takes"),
        (0, SharedAccess("row"), "every access takes a wavefront"),
        (9, SharedAccess(pad=4), "5 fewer than you said"),
        (20, SharedAccess(), "12 more than you said"),
    ],
)
def test_a_prediction_is_answered_with_one_sentence_about_the_difference(said, access, words):
    answer = difference(said, access)
    assert words in answer and answer.startswith(f"You said {said}, and it is ")
    assert answer.count(". ") == 0 and answer.endswith(".")


def test_the_still_picture_comes_first_and_then_the_widget(displayed):
    explore.banks("column of [32][36]")
    still, live = displayed
    (image,) = parsed(still).iter("img")
    assert image.get("src").startswith("data:image/svg+xml;base64,")
    caption = "".join(next(parsed(still).iter("figcaption")).itertext())
    assert "value = t[i, 0]" in caption and "4 wavefronts" in caption
    assert widget_shown(live).children
    assert len(still) + len(str(widget_shown(live).children[2].value)) < 90_000


def test_a_question_shows_its_answer_after_the_commit_only(displayed):
    explore.predict_wavefronts(pad=4)
    still, live = displayed
    question, row, answer, _style = widget_shown(live).children
    assert "How many wavefronts" in question.value and "svg" not in question.value
    assert parsed(still).find("div/details/figure/img") is not None  # without a kernel: folded, not lost
    box, commit = row.children
    box.value = 32
    commit.click()
    assert statuses(answer.value)[0].startswith("You said 32, and it is 4: 32 lanes take part")
    assert numbers(answer.value)["wavefronts"] == 4
