"""The occupancy explorer without a browser: set a control, read the numbers back, compare with blocks placed singly."""

from __future__ import annotations

import re
from dataclasses import asdict
from xml.etree import ElementTree

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from course import explore
from course.cards import CARDS, LIMITS
from course.explorers import _occupancy as module
from course.explorers._occupancy import PRESETS, OccupancyExplorer, Settings, arithmetic, difference
from tests.support.placed_blocks import placed

BUDGET = PRESETS["worked budget"].settings


def parsed(html):
    return ElementTree.fromstring(f"<body>{html}</body>")


def numbers(html):
    return {dd.get("data-name"): float(dd.get("data-value")) for dd in parsed(html).iter("dd")}


def counted(launch):
    """Blocks, warps, occupancy and how many limits bind, from blocks placed one by one."""
    capability = CARDS[launch.card].compute_capability
    by = [n for n in placed(capability, launch.threads, launch.registers, launch.shared).values() if n is not None]
    warps = min(by) * -(-launch.threads // 32)
    return {
        "blocks": min(by),
        "warps": warps,
        "occupancy": warps / LIMITS[capability].warps_per_sm,
        "limiters": by.count(min(by)),
    }


@pytest.fixture(scope="module")
def explorer():
    """One explorer that is set again and again, as a student does."""
    return OccupancyExplorer(BUDGET)


# Blocks and occupancy as the chapter says them.
BY_HAND = {
    "worked budget": (6, 0.75),
    "72 registers": (3, 0.375),
    "64 registers": (4, 0.5),
    "255 registers": (1, 0.125),
    "255 registers, 512 threads": (0, 0),
    "all warp slots": (8, 1),
    "small blocks": (16, 0.5),
    "blocks of 1024": (1, 32 / 48),
    "large tiles": (2, 0.25),
}


@pytest.mark.parametrize("name", BY_HAND)
def test_a_preset_shows_the_blocks_and_the_occupancy_of_the_chapter(explorer, name):
    explorer.presets.value = name
    shown = numbers(explorer.picture.value)
    assert (shown["blocks"], shown["occupancy"]) == BY_HAND[name]
    assert shown.items() >= counted(PRESETS[name].settings).items()
    assert explorer.presets.value == name


def test_every_preset_has_a_test():
    assert set(PRESETS) == set(BY_HAND)


@pytest.mark.parametrize("name", BY_HAND)
def test_model_and_profile_of_every_preset_agree(explorer, name):
    explorer.presets.value = name
    explorer.profile.button.click()
    found = explorer.profile.comparison
    assert found is not None, explorer.profile.answer.value
    assert found.agrees
    launch = PRESETS[name].settings
    assert [row.profile for row in found.rows] == [
        launch.threads,
        -(-launch.threads // 32),
        launch.shared,
        launch.shared // 4 * 4,
    ]
    assert found.profile.findings == ()
    assert "cannot know registers" in explorer.profile.answer.value
    assert ("A GPU would refuse" in explorer.profile.answer.value) == (BY_HAND[name][0] == 0)


launches = st.sampled_from([key for key, card in CARDS.items() if card.limits]).flatmap(
    lambda key: st.builds(
        Settings,
        st.just(key),
        st.integers(1, 1024),
        st.integers(1, 255),
        st.integers(0, CARDS[key].limits.shared_bytes_per_block_opt_in),
    )
)


@settings(max_examples=25, deadline=None)
@given(launches)
def test_any_launch_shows_the_blocks_that_can_be_placed(explorer, launch):
    explorer.set(launch)
    assert explorer.settings == launch
    assert numbers(explorer.picture.value).items() >= counted(launch).items()


@settings(max_examples=100, deadline=None)
@given(launches)
@example(Settings("v100", 257, 169))  # nine warps are checked as if they were twelve
def test_the_arithmetic_shown_gives_the_blocks(launch):
    expression, _ = arithmetic(launch)
    blocks = counted(launch)["blocks"]
    if blocks:
        left, _, right = expression.partition(" = ")
        assert eval(left) == int(right or left) == blocks
    else:
        assert eval(expression) is True


@settings(max_examples=5, deadline=None)
@given(launches)
def test_model_and_profile_of_any_launch_agree(launch):
    found = module.compare(launch)
    assert found.agrees and found.profile.findings == ()


def test_the_launch_is_written_with_its_values(explorer):
    explorer.set(BUDGET)
    assert "kernel[blocks, 256, 0, 2176](...)" in explorer.notes.value
    explorer.set(Settings(threads=96))
    assert "kernel[blocks, 96](...)" in explorer.notes.value


def test_another_card_limits_the_shared_memory_of_a_block():
    explorer = OccupancyExplorer(Settings("h200", shared=232448))
    explorer.card.value = "t4"
    assert explorer.shared.value == explorer.shared.slider.max == 65536
    explorer.card.value = "h200"
    assert explorer.shared.slider.max == 232448


def test_reset_returns_to_where_the_explorer_started():
    explorer = OccupancyExplorer(BUDGET)
    before = explorer.picture.value
    explorer.set(Settings("t4", 96, 33, 4000))
    explorer.reset.click()
    assert explorer.settings == BUDGET and explorer.picture.value == before
    assert explorer.presets.value == "worked budget"


def test_one_change_draws_once():
    explorer = OccupancyExplorer(BUDGET)
    drawn = []
    explorer.picture.observe(lambda change: drawn.append(change.new), names="value")
    explorer.set(Settings("t4", 96, 33, 4000))
    assert len(drawn) == 1
    explorer.set(Settings("h200", 96, 33, 232448))
    explorer.card.value = "t4"  # which also lowers the shared memory
    assert len(drawn) == 3


def test_slider_and_number_box_always_agree(explorer):
    explorer.reset.click()
    for name, value in (("threads", 96), ("registers", 33), ("shared", 4000)):
        control = explorer.panel.controls[name]
        control.slider.value = value
        assert control.source.value == value
        assert getattr(explorer.settings, name) == value


def test_the_live_sentence_is_the_alt_text_of_the_picture(explorer):
    explorer.set(Settings("h200", 96, 33, 4000))
    (status,) = [part for part in parsed(explorer.status.value).iter() if part.get("role") == "status"]
    assert status.text == parsed(explorer.picture.value).find("img").get("alt")


@pytest.fixture
def displayed(monkeypatch):
    """What a call of an explorer shows: the static HTML and the widgets."""
    sent = []
    monkeypatch.setattr(module, "show", lambda static, parts: sent.append((static, parts)))
    return sent


def test_an_ordinary_picture_with_its_numbers_comes_first(displayed):
    explore.occupancy("72 registers")
    ((static, parts),) = displayed
    (image,) = parsed(static).iter("img")
    assert "3 blocks on an SM at a time" in image.get("alt")
    caption = "".join(next(parsed(static).iter("figcaption")).itertext())
    assert "A100 80GB SXM, 256 threads a block, 72 registers a thread, 2,176 B of shared memory a block" in caption
    assert "occupancy 37.5\xa0%" in caption
    assert len(parts) > 4


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: explore.occupancy("73 registers"), ValueError, "there are: worked budget, 72 registers"),
        (lambda: explore.predict_blocks(0), ValueError, "threads_per_block is 0"),
        (lambda: explore.predict_blocks(registers=300), ValueError, "expected 0 to 255"),
        (lambda: explore.predict_blocks(on="MI300X"), ValueError, "NVIDIA's occupancy rules do not apply"),
        (lambda: explore.predict_blocks(on="A1000"), KeyError, "no card is called"),
    ],
)
def test_input_that_makes_no_sense_is_refused_before_anything_is_shown(displayed, call, error, words):
    with pytest.raises(error, match=words):
        call()
    assert displayed == []


@pytest.mark.parametrize(
    ("said", "launch", "words"),
    [
        (6, BUDGET, "You said 6, and it is 6: right."),
        (8, BUDGET, "8 is what warp slots allow, but registers allow fewer"),
        (48, BUDGET, "48 is the number of resident warps, and a block has 8 warps"),
        (7, Settings("a100-80gb", 96, 88), "registers are handed to warps in units of 256, from 4 partitions"),
        (6, Settings(registers=41), "registers are handed to warps in units of 256"),
        (
            79,
            Settings("t4", 32, 32, 2100),
            "63 fewer than you said; take the smallest of all limits, which here is block slots",
        ),
        (1, BUDGET, "5 more than you said; take the smallest of all limits, which here is registers"),
    ],
)
def test_a_prediction_is_answered_with_one_sentence_about_the_difference(said, launch, words):
    answer = difference(said, launch)
    assert words in answer
    assert answer.endswith(".") and answer.count(". ") == 0


def test_a_prediction_by_plain_division_of_shared_memory_is_recognised():
    launch = Settings(registers=32, threads=32, shared=6000)
    assert counted(launch)["blocks"] == 23
    assert "also takes a reserved part" in difference(167936 // 6000, launch)


def test_a_question_shows_its_answer_after_the_commit_only(displayed):
    explore.predict_blocks(256, 72, 2176)
    ((static, parts),) = displayed
    assert parsed(static).find("details/figure/img") is not None  # without a kernel: folded, not lost
    question, row, answer = parts
    assert re.search("64 warp slots, 32 block slots, 65,536 registers and 167,936 B", question.value)
    assert answer.value == ""
    box, commit = row.children
    box.value = 4
    commit.click()
    status = next(part for part in parsed(answer.value).iter() if part.get("role") == "status")
    assert (status.get("data-prediction"), status.get("data-truth")) == ("4", "3")
    assert numbers(answer.value).items() >= counted(Settings(registers=72, shared=2176)).items()


def test_settings_come_back_as_they_were_set(explorer):
    launch = Settings("t4", 96, 33, 4000)
    explorer.set(launch)
    assert explorer.panel.values() == asdict(launch)
