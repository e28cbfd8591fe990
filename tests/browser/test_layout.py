"""The layout explorer in a real JupyterLab in a real browser, with keys and pointer."""

from __future__ import annotations

import pytest

from tests.browser.asking import beside, choose_theme, numbers, too_wide, violations

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def page(notebook_of):
    page = notebook_of("explore.layout()", "explore.predict_field_sectors()")
    page.locator(".gmc dl.numbers").first.wait_for(timeout=60_000)
    return page


@pytest.fixture
def explorer(page):
    explorer = page.locator(".gmc", has=page.get_by_label("Start from"))
    explorer.get_by_role("button", name="Reset").click()
    shows(explorer, 16)
    return explorer


def shows(explorer, sectors_per_request):
    explorer.locator(f"dd[data-name='sectors_per_request'][data-value='{sectors_per_request}']").wait_for(
        timeout=60_000
    )


def moved(explorer):
    return {int(box.get_attribute("data-sector")) for box in explorer.locator("svg rect[data-sector]").all()}


def used_bytes(explorer, name):
    return {int(box.get_attribute("data-byte")) for box in explorer.locator(f"svg rect[data-field^='{name}']").all()}


def test_another_type_of_a_field_moves_every_field_behind_it(explorer):
    menu = explorer.get_by_label("Field y")
    menu.focus()
    for key in ("Space", "ArrowDown", "Enter"):  # from float32 to float64: 24 bytes a record
        menu.press(key)
    shows(explorer, 24)
    at = [24 * record for record in range(32)]
    assert used_bytes(explorer, "x") == set(at)
    assert moved(explorer) == {(byte + n) // 32 for byte in at for n in range(4)}


def test_a_field_is_read_with_the_space_bar(explorer):
    explorer.get_by_label("read z").press("Space")
    explorer.locator("dd[data-name='requests'][data-value='2']").wait_for(timeout=60_000)
    assert used_bytes(explorer, "z") == {16 * record + 8 for record in range(32)}
    found = numbers(explorer)
    assert (found["useful"], found["dead"], found["dram"], found["l1"]) == (256, 256, 512, 1024)


def test_a_layout_is_chosen_with_the_keyboard(explorer):
    explorer.get_by_role("button", name="SoA", exact=True).press("Enter")
    shows(explorer, 4)
    assert moved(explorer) == {0, 1, 2, 3}
    explorer.get_by_role("button", name="AoSoA", exact=True).press("Enter")
    explorer.get_by_role("button", name="4", exact=True).press("Enter")
    shows(explorer, 8)
    assert used_bytes(explorer, "x") == {record // 4 * 64 + record % 4 * 4 for record in range(32)}


def test_a_preset_is_chosen_with_the_keyboard(explorer):
    menu = explorer.get_by_label("Start from")
    menu.focus()
    for sectors in (4, 16, 4):
        for key in ("Space", "ArrowDown", "Enter"):
            menu.press(key)
        shows(explorer, sectors)


def test_the_profile_stands_beside_the_model(explorer):
    explorer.get_by_label("Start from").select_option("packed record")
    explorer.locator("dd[data-name='requests'][data-value='4']").wait_for(timeout=60_000)
    explorer.get_by_role("button", name="Profile this").press("Enter")
    explorer.locator("table.beside").wait_for(timeout=60_000)
    assert beside(explorer)["Requests"] == (4, 4)
    assert "p[i].x" in explorer.locator("pre").first.inner_text()


def test_the_live_sentence_says_what_the_picture_is_called(explorer):
    explorer.get_by_label("Start from").select_option("one of six doubles")
    shows(explorer, 32)
    sentence = explorer.get_by_role("status").inner_text()
    assert "1 request with 32 sectors" in sentence
    assert explorer.get_by_role("img").get_attribute("aria-label").split() == sentence.split()


def test_a_question_reveals_its_picture_after_the_commit(page):
    question = page.locator(".gmc", has=page.get_by_role("button", name="Commit"))
    assert question.locator("svg").count() == 0
    question.get_by_label("Your number").fill("4")
    question.get_by_role("button", name="Commit").press("Enter")
    revealed = page.locator("[data-prediction='4'][data-truth='16']")
    revealed.wait_for(timeout=60_000)
    assert "but other fields lie between" in revealed.inner_text()


def test_nothing_is_wider_than_its_place_and_axe_finds_nothing_in_either_theme(page, explorer):
    explorer.get_by_label("Start from").select_option("AoS, all fields")
    explorer.locator("dd[data-name='requests'][data-value='4']").wait_for(timeout=60_000)
    assert too_wide(page) == []
    assert violations(page) == []
    choose_theme(page, "JupyterLab Dark")
    try:
        assert violations(page) == []
    finally:
        choose_theme(page, "JupyterLab Light")
