"""The banks explorer in a real JupyterLab in a real browser, with keys and pointer."""

from __future__ import annotations

import pytest

from tests.browser.asking import beside, choose_theme, drag, numbers, too_wide, violations

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def page(notebook_of):
    page = notebook_of("explore.banks()", "explore.predict_wavefronts(pad=4)")
    page.locator(".gmc dl.numbers").first.wait_for(timeout=60_000)
    return page


@pytest.fixture
def explorer(page):
    explorer = page.locator(".gmc", has=page.get_by_label("Start from"))
    explorer.get_by_role("button", name="Reset").click()
    shows(explorer, 32)
    return explorer


def shows(explorer, wavefronts):
    explorer.locator(f"dd[data-name='wavefronts'][data-value='{wavefronts}']").wait_for(timeout=60_000)


def served(explorer):
    """What the picture says: (bank, wavefront, lanes) of every box."""
    return [
        (int(box.get_attribute("data-bank")), int(box.get_attribute("data-wavefront")), box.get_attribute("data-lanes"))
        for box in explorer.locator("svg rect[data-bank]").all()
    ]


def column(pad):
    """Down the first column of [32][32 + pad]: every lane's bank, and the wavefronts that it takes."""
    banks = [lane * (32 + pad) % 32 for lane in range(32)]
    return banks, max(banks.count(bank) for bank in banks)


def test_a_key_press_in_a_number_box_changes_the_picture(explorer):
    box = explorer.get_by_label("Pad", exact=True)
    box.focus()
    for pad in (1, 2, 3, 4):
        box.press("ArrowUp")
        banks, wavefronts = column(pad)
        shows(explorer, wavefronts)
        explorer.locator(f"dd[data-name='pad'][data-value='{32 * pad * 4}']").wait_for(timeout=60_000)
        found = served(explorer)
        assert [bank for _, bank in sorted((int(lanes), bank) for bank, _, lanes in found)] == banks
        assert {wavefront for _, wavefront, _ in found} == set(range(wavefronts))


def test_dragging_a_slider_changes_the_picture_and_its_number_box(page, explorer):
    pad = drag(page, explorer, "Pad", 120)
    assert 0 < pad <= 8
    shows(explorer, column(pad)[1])


def test_a_preset_is_chosen_with_the_keyboard(explorer):
    menu = explorer.get_by_label("Start from")
    menu.focus()
    for wavefronts in (1, 4, 1):
        for key in ("Space", "ArrowDown", "Enter"):
            menu.press(key)
        shows(explorer, wavefronts)


def test_the_element_size_is_chosen_with_the_keyboard_and_parts_the_warp(explorer):
    explorer.get_by_label("Access", exact=True).select_option("along rows: t[y, x]")
    shows(explorer, 1)
    explorer.get_by_role("button", name="16 B").press("Enter")
    shows(explorer, 4)
    assert numbers(explorer)["ideal"] == 4
    assert explorer.locator("svg rect[data-wavefront='3']").count() == 8


def test_the_table_opens_with_the_keyboard_and_follows(explorer):
    button = explorer.get_by_role("button", name="Show the word and bank of every lane")
    button.press("Enter")
    region = explorer.get_by_role("region", name="Word and bank of every lane")
    region.wait_for(timeout=60_000)
    assert region.locator("tr").nth(6).inner_text().split() == ["5", "5", "0", "640", "160", "0", "0"]
    explorer.get_by_label("Pad", exact=True).press("ArrowUp")
    region.get_by_role("cell", name="660", exact=True).first.wait_for(timeout=60_000)
    button.press("Enter")


def test_the_profile_stands_beside_the_model(explorer):
    explorer.get_by_label("Start from").select_option("16 x 16 block, tile [16][17]")
    shows(explorer, 2)
    explorer.get_by_role("button", name="Profile this").press("Enter")
    explorer.locator("table.beside").wait_for(timeout=60_000)
    assert beside(explorer)["Wavefronts"] == (2, 2)
    assert "t[row, column] = out[i]" in explorer.locator("pre").first.inner_text()


def test_the_live_sentence_says_what_the_picture_is_called(explorer):
    explorer.get_by_label("Start from").select_option("column of [32][36]")
    shows(explorer, 4)
    sentence = explorer.get_by_role("status").inner_text()
    assert "4 wavefronts where 1 would do, a 4-way bank conflict" in sentence
    assert explorer.get_by_role("img").get_attribute("aria-label").split() == sentence.split()


def test_a_question_reveals_its_picture_after_the_commit(page):
    question = page.locator(".gmc", has=page.get_by_role("button", name="Commit"))
    assert question.locator("svg").count() == 0
    question.get_by_label("Your number").fill("8")
    question.get_by_role("button", name="Commit").press("Enter")
    revealed = page.locator("[data-prediction='8'][data-truth='4']")
    revealed.wait_for(timeout=60_000)
    assert "8 banks are at work, but all at once" in revealed.inner_text()


def test_nothing_is_wider_than_its_place_and_axe_finds_nothing_in_either_theme(page, explorer):
    explorer.get_by_label("Start from").select_option("row of complex128")
    shows(explorer, 4)
    assert too_wide(page) == []
    assert violations(page) == []
    choose_theme(page, "JupyterLab Dark")
    try:
        assert violations(page) == []
    finally:
        choose_theme(page, "JupyterLab Light")
