"""The roofline explorer in a real JupyterLab in a real browser, used with keys and pointer."""

from __future__ import annotations

import pytest

from tests.browser.asking import beside, choose_theme, drag, numbers, too_wide, violations

pytestmark = pytest.mark.slow

OWN_PROFILE = """\
import numpy as np
from course.kernels.roofline import matmul
from course.profiling.profile import profile
a = np.ones((64, 64), np.float32)
explore.roofline(profile(matmul, (2, 8), (32, 8), a, a.copy(), a.copy()), preset="copy", on="H200")"""


@pytest.fixture(scope="module")
def page(notebook_of):
    page = notebook_of("explore.roofline()", "explore.predict_attainable()", OWN_PROFILE)
    page.locator(".gmc dl.numbers").nth(1).wait_for(timeout=60_000)
    return page


@pytest.fixture
def explorer(page):
    explorer = page.locator(".gmc", has=page.get_by_label("Start from")).first
    explorer.get_by_role("button", name="Reset").click()
    shows(explorer, "intensity", 2 / 12)
    return explorer


def shows(explorer, name, value):
    explorer.locator(f"dd[data-name='{name}'][data-value='{value:.17g}']").wait_for(timeout=60_000)


def divided(flop, moved, gb_per_s=2039, tflops=19.5):
    attainable = min(flop / moved * gb_per_s / 1000, tflops)
    ridge = tflops * 1000 / gb_per_s
    memory_bound = float(flop / moved < ridge)
    return {
        "intensity": flop / moved,
        "ridge": ridge,
        "attainable": attainable,
        "share": attainable / tflops,
        "memory-bound": memory_bound,
    }


def test_a_key_press_in_a_number_box_changes_the_picture(explorer):
    box, picture = explorer.get_by_label("FLOP", exact=True), explorer.locator("img.plot")
    box.focus()
    seen = {picture.get_attribute("src")}
    for flop in (3, 4, 5):
        box.press("ArrowUp")
        shows(explorer, "intensity", flop / 12)
        assert numbers(explorer) == pytest.approx(divided(flop, 12))
        seen.add(picture.get_attribute("src"))
    assert len(seen) == 4
    assert picture.evaluate("image => image.complete && image.naturalWidth") == 800


def test_dragging_a_slider_changes_the_picture_and_its_number_box(page, explorer):
    flop = drag(page, explorer, "FLOP", 120)
    assert flop > 100
    shows(explorer, "intensity", flop / 12)
    assert numbers(explorer) == pytest.approx(divided(flop, 12))


def test_a_preset_and_a_card_are_chosen_with_the_keyboard(explorer):
    menu = explorer.get_by_label("Start from")
    menu.focus()
    for flop, moved in ((0, 8), (20, 8), (2, 8)):
        for key in ("Space", "ArrowDown", "Enter"):  # JupyterLab takes the arrows of a menu that is not open
            menu.press(key)
        shows(explorer, "intensity", flop / moved)
    explorer.get_by_label("Card", exact=True).select_option("H200")
    shows(explorer, "attainable", 1.2)
    assert numbers(explorer) == pytest.approx(divided(2, 8, 4800, 66.9))
    assert menu.input_value() == "naive matmul"


def test_profile_this_shows_model_and_profile_and_draws_the_bar(explorer):
    explorer.get_by_label("Start from").select_option("tiled matmul, T = 16")
    shows(explorer, "intensity", 4)
    explorer.get_by_role("button", name="Profile this").click()
    explorer.locator("table.beside").wait_for(timeout=60_000)
    counted = {"FLOP": 2 * 128**3, "Bytes read": 2 * 128**3 // 16 * 4, "FLOP per byte": 4}
    assert beside(explorer) == {name: (value, value) for name, value in counted.items()}
    explorer.get_by_role("img", name="matmul_kernel, profiled: 3.76 to 21.3 FLOP/B").wait_for(timeout=60_000)
    explorer.get_by_role("button", name="Reset").click()
    shows(explorer, "intensity", 2 / 12)
    assert explorer.locator("table.beside").count() == 0


def test_the_students_own_profile_is_in_the_picture(page):
    page.get_by_role("img", name="matmul, profiled: 0.395 to 10.7 FLOP/B").first.wait_for(timeout=60_000)


def test_a_question_reveals_its_picture_after_the_commit(page):
    question = page.locator(".gmc", has=page.get_by_role("button", name="Commit"))
    assert question.locator("img").count() == 0
    question.get_by_label("Your number").fill("19500")
    question.get_by_role("button", name="Commit").press("Enter")
    revealed = page.locator("[data-prediction='19500'][data-truth='340']")
    revealed.wait_for(timeout=60_000)
    assert "19,500 is the peak" in revealed.inner_text()
    assert page.get_by_role("img", name="you said 19.5 TFLOP/s").is_visible()


def test_nothing_is_wider_than_its_place_and_axe_finds_nothing_in_either_theme(page, explorer):
    explorer.get_by_role("button", name="Profile this").click()
    explorer.locator("table.beside").wait_for(timeout=60_000)
    assert too_wide(page) == []
    assert violations(page) == []
    choose_theme(page, "JupyterLab Dark")
    try:
        assert violations(page) == []
        turned = explorer.locator("img.plot").evaluate("image => getComputedStyle(image).filter")
        assert turned.startswith("invert(0.91)")
    finally:
        choose_theme(page, "JupyterLab Light")
    assert explorer.locator("img.plot").evaluate("image => getComputedStyle(image).filter") == "none"
