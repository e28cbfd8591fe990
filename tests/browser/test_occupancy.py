"""The occupancy explorer in a real JupyterLab in a real browser, used with keys and pointer."""

from __future__ import annotations

import pytest

from tests.browser.asking import beside, choose_theme, drag, numbers, too_wide, violations
from tests.support.placed_blocks import placed

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def page(notebook_of):
    page = notebook_of("explore.occupancy()", "explore.predict_blocks(256, 72, 2176)")
    page.locator(".gmc dl.numbers").first.wait_for(timeout=60_000)
    return page


@pytest.fixture
def explorer(page):
    explorer = page.locator(".gmc", has=page.get_by_label("Start from"))
    explorer.get_by_role("button", name="Reset").click()
    shows(explorer, 256, 40, 2176)
    return explorer


def blocks(threads, registers, shared):
    return min(n for n in placed("8.0", threads, registers, shared).values() if n is not None)


def shows(explorer, threads, registers, shared):
    """Until the launch that the controls say, and the blocks of it, are on the page."""
    launch = f"[blocks, {threads}, 0, {shared}]" if shared else f"[blocks, {threads}]"
    explorer.get_by_text(f"kernel{launch}(...)").wait_for(timeout=60_000)
    number = blocks(threads, registers, shared)
    explorer.locator(f"dd[data-name=blocks][data-value='{number}']").wait_for(timeout=60_000)
    share = number * -(-threads // 32) / 64
    assert numbers(explorer)["occupancy"] == share


def test_key_presses_in_a_number_box_change_the_picture(explorer):
    box, picture = explorer.get_by_label("Regs/thread", exact=True), explorer.locator("img.plot")
    box.focus()
    before = picture.get_attribute("src")
    for registers in range(41, 50):
        box.press("ArrowUp")
        shows(explorer, 256, registers, 2176)
    assert picture.get_attribute("src") != before
    assert picture.evaluate("image => image.complete && image.naturalWidth") == 800


def test_dragging_a_slider_changes_the_picture_and_its_number_box(page, explorer):
    threads = drag(page, explorer, "Threads/block", 90)
    assert threads > 256
    shows(explorer, threads, 40, 2176)


def test_a_preset_is_chosen_with_the_keyboard(explorer):
    menu = explorer.get_by_label("Start from")
    menu.focus()
    for registers in (72, 64):
        for key in ("Space", "ArrowDown", "Enter"):  # JupyterLab takes the arrows of a menu that is not open
            menu.press(key)
        shows(explorer, 256, registers, 2176)


def test_the_live_sentence_says_what_the_picture_is_called(explorer):
    explorer.get_by_label("Start from").select_option("72 registers")
    shows(explorer, 256, 72, 2176)
    sentence = explorer.get_by_role("status").inner_text()
    assert "3 blocks on an SM at a time, 24 warps in 64 slots" in sentence
    assert explorer.get_by_role("img").get_attribute("alt").split() == sentence.split()


def test_profile_this_shows_what_a_profile_can_know(explorer):
    explorer.get_by_role("button", name="Profile this").click()
    explorer.locator("table.beside").wait_for(timeout=60_000)
    counted = {
        "Threads per block": 256,
        "Warps per block": 8,
        "Shared bytes per block": 2176,
        "of these, written": 2176,
    }
    assert beside(explorer) == {name: (value, value) for name, value in counted.items()}
    assert explorer.get_by_text("A profile cannot know registers").is_visible()


def test_a_question_reveals_its_picture_after_the_commit(page):
    question = page.locator(".gmc", has=page.get_by_role("button", name="Commit"))
    assert question.locator("img").count() == 0
    question.get_by_label("Your number").fill("4")
    question.get_by_role("button", name="Commit").press("Enter")
    revealed = page.locator("[data-prediction='4'][data-truth='3']")
    revealed.wait_for(timeout=60_000)
    assert "You said 4, and it is 3" in revealed.inner_text()
    assert page.get_by_role("img", name="3 blocks on an SM at a time").is_visible()


def test_nothing_is_wider_than_its_place_and_axe_finds_nothing_in_either_theme(page, explorer):
    explorer.get_by_role("button", name="Profile this").click()
    explorer.locator("table.beside").wait_for(timeout=60_000)
    assert too_wide(page) == []
    assert violations(page) == []
    choose_theme(page, "JupyterLab Dark")
    try:
        assert violations(page) == []
    finally:
        choose_theme(page, "JupyterLab Light")
