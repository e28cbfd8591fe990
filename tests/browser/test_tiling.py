"""The tile-size explorer in a real JupyterLab in a real browser, with keys and pointer."""

from __future__ import annotations

import pytest

from tests.browser.asking import beside, choose_theme, drag, numbers, too_wide, violations

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def page(notebook_of):
    page = notebook_of("explore.tiling()")
    page.locator(".gmc dl.numbers").first.wait_for(timeout=60_000)
    return page


@pytest.fixture
def explorer(page):
    explorer = page.locator(".gmc", has=page.get_by_label("Start from"))
    explorer.get_by_role("button", name="Reset").click()
    shows(explorer, 16)
    return explorer


def shows(explorer, tile):
    explorer.locator(f"dd[data-name='threads'][data-value='{tile**2}']").wait_for(timeout=60_000)


def test_a_key_press_in_a_number_box_changes_both_pictures(explorer):
    box = explorer.get_by_label("Tile size T", exact=True)
    box.focus()
    plot = explorer.locator("img")
    for tile in (17, 18):
        box.press("ArrowUp")
        shows(explorer, tile)
        found = numbers(explorer)
        assert (found["intensity"], found["shared"]) == (tile / 4, 8 * tile * tile)
        assert f"a tile of {tile} has {tile / 4:.4g} FLOP per staged byte" in plot.get_attribute("alt")
        assert plot.evaluate("image => image.complete && image.naturalWidth") > 0


def test_dragging_a_slider_changes_the_pictures_and_its_number_box(page, explorer):
    tile = drag(page, explorer, "Tile size T", 90)
    assert 16 < tile <= 32
    shows(explorer, tile)


def test_the_step_moves_the_staged_tiles(explorer):
    box = explorer.get_by_label("Step", exact=True)
    for step in (1, 2, 3):
        box.press("ArrowUp")
        explorer.locator(f"svg rect[data-matrix='A'][data-column='{16 * step}']").wait_for(timeout=60_000)
        assert explorer.locator("svg rect[data-matrix='B']").get_attribute("data-row") == str(16 * step)


def test_a_preset_is_chosen_with_the_keyboard(explorer):
    menu = explorer.get_by_label("Start from")
    menu.focus()
    for tile in (8, 32):
        for key in ("Space", "ArrowDown", "Enter"):
            menu.press(key)
        shows(explorer, tile)


def test_another_card_changes_what_fits(explorer):
    explorer.get_by_label("Card").select_option("T4")
    explorer.locator("dd[data-name='blocks'][data-value='4']").wait_for(timeout=60_000)  # 32 warp slots, 8 a block


def test_the_profile_stands_beside_the_model(explorer):
    explorer.get_by_label("Start from").select_option("T = 16, pad 1")
    explorer.locator("dd[data-name='stores'][data-value='2']").wait_for(timeout=60_000)
    explorer.get_by_role("button", name="Profile this").press("Enter")
    explorer.locator("table.beside").wait_for(timeout=60_000)
    # 2 matrices x 4 steps x 16 blocks x 8 warps, two wavefronts each
    assert beside(explorer)["Store wavefronts"] == (2048, 2048)
    assert "a_tile[y, x] = a[row, step * tile + x]" in explorer.locator("pre").first.inner_text()


def test_the_live_sentence_says_what_the_picture_is_called(explorer):
    explorer.get_by_label("Start from").select_option("T = 32 with 40 registers")
    explorer.locator("dd[data-name='blocks'][data-value='1']").wait_for(timeout=60_000)
    sentence = explorer.get_by_role("status").inner_text()
    assert "an SM holds 1 block, occupancy 50" in sentence
    assert explorer.locator("svg[role=img]").get_attribute("aria-label").split() == sentence.split()


def test_nothing_is_wider_than_its_place_and_axe_finds_nothing_in_either_theme(page, explorer):
    assert too_wide(page) == []
    assert violations(page) == []
    choose_theme(page, "JupyterLab Dark")
    try:
        assert violations(page) == []
    finally:
        choose_theme(page, "JupyterLab Light")
