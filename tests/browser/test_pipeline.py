"""The pipeline explorer and the start page's pictures in a real JupyterLab in a real browser, with keys and pointer."""

from __future__ import annotations

import pytest

from tests.browser.asking import choose_theme, drag, numbers, too_wide, violations

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def page(notebook_of):
    page = notebook_of(
        "explore.pipeline()", "explore.predict_pipeline_time()", "explore.pyramid()", "explore.way_of_a_load()"
    )
    page.locator(".gmc dl.numbers").first.wait_for(timeout=60_000)
    return page


@pytest.fixture
def explorer(page):
    explorer = page.locator(".gmc", has=page.get_by_label("Start from"))
    explorer.get_by_role("button", name="Reset").click()
    shows(explorer, 22)
    return explorer


def shows(explorer, time):
    explorer.locator(f"dd[data-name='time'][data-value='{time}']").wait_for(timeout=60_000)


def formula(tiles, load, compute):
    """Time with two buffers."""
    return load + (tiles - 1) * max(load, compute) + compute


def test_a_key_press_in_a_number_box_changes_the_chart(explorer):
    box = explorer.get_by_label("Compute time", exact=True)
    box.focus()
    for compute in (7, 8, 9):
        box.press("ArrowUp")
        shows(explorer, formula(3, 4, compute))
        ends = [float(bar.get_attribute("data-end")) for bar in explorer.locator("g[data-kind=compute]").all()]
        assert ends[:3] == [4 + compute, 8 + 2 * compute, 12 + 3 * compute]  # one stage
        assert ends[3:] == [4 + compute, 4 + 2 * compute, 4 + 3 * compute]  # two


def test_dragging_a_slider_changes_the_chart_and_its_number_box(page, explorer):
    load = drag(page, explorer, "Load time", 120)
    assert load > 6
    shows(explorer, formula(3, load, 6))
    assert explorer.locator("g[data-kind=load]").count() == 6


def test_a_preset_is_chosen_with_the_keyboard_and_a_stage_too(explorer):
    menu = explorer.get_by_label("Start from")
    menu.focus()
    for time in (30, 57):  # no overlap, load-bound
        for key in ("Space", "ArrowDown", "Enter"):
            menu.press(key)
        shows(explorer, time)
    explorer.get_by_role("button", name="1", exact=True).first.press("Enter")
    shows(explorer, 72)
    assert numbers(explorer)["speed_up"] == 1


def test_the_live_sentence_says_what_the_chart_is_called(explorer):
    explorer.get_by_label("Start from").select_option("balanced")
    shows(explorer, 54)
    sentence = explorer.get_by_role("status").inner_text()
    assert "8 tiles in 1 stage take 96, in 2 stages 54" in sentence
    assert explorer.get_by_role("img").get_attribute("aria-label").split() == sentence.split()


def test_a_question_reveals_its_chart_after_the_commit(page):
    question = page.locator(".gmc", has=page.get_by_role("button", name="Commit"))
    assert question.locator("svg").count() == 0
    question.get_by_label("Your number").fill("30")
    question.get_by_role("button", name="Commit").press("Enter")
    revealed = page.locator("[data-prediction='30'][data-truth='22']")
    revealed.wait_for(timeout=60_000)
    assert "30 is the time with one buffer" in revealed.inner_text()


def test_another_card_changes_the_pyramid(page):
    pyramid = page.locator(".gmc", has=page.locator("[data-tier]"))
    pyramid.get_by_label("Card").select_option("T4")
    picture = page.get_by_role("img", name="The memory pyramid of the T4")
    picture.wait_for(timeout=60_000)
    assert "40 SMs × 64 KiB of 96 KiB" in picture.text_content()
    assert pyramid.get_by_text("LDS (local data share)").is_visible()


def test_the_way_of_a_load_is_an_image_with_its_numbers_in_words(page):
    picture = page.get_by_role("img", name="The way of a load")
    assert picture.evaluate("image => image.complete && image.naturalWidth") > 0
    assert "L1 moves 512\N{NO-BREAK SPACE}B" in picture.get_attribute("alt")


def test_nothing_is_wider_than_its_place_and_axe_finds_nothing_in_either_theme(page, explorer):
    explorer.get_by_label("Start from").select_option("long latency, deep pipeline")
    shows(explorer, 44)
    assert too_wide(page) == []
    assert violations(page) == []
    choose_theme(page, "JupyterLab Dark")
    try:
        assert violations(page) == []
    finally:
        choose_theme(page, "JupyterLab Light")
