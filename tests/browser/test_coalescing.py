"""The released chapter in a real JupyterLab in a real browser, used with keys and pointer."""

from __future__ import annotations

import re

import nbformat
import pytest
from nbclient import NotebookClient

from course.figures.style import DARK, LIGHT
from tests.browser.asking import choose_theme, drag, numbers, too_wide, violations, wide_letters
from tools.in_browser import open_notebook, run_all

pytestmark = pytest.mark.slow

STILL = ('coalescing("stride 2")', "predict_sectors(8)")
NOTEBOOK = "coalescing/coalescing.ipynb"


@pytest.fixture(scope="module")
def page(lab, browser):
    """The chapter after Run All Cells, 1024 pixels wide."""
    page = browser.new_page(viewport={"width": 1024, "height": 1400})
    open_notebook(page, lab, NOTEBOOK)
    run_all(page)
    explorer_of(page).locator("dl.numbers").wait_for(timeout=60_000)
    yield page
    page.close()


def explorer_of(page):
    """The explorer: the one widget of the chapter with a menu of presets."""
    return page.locator(".gmc", has=page.get_by_label("Start from"))


@pytest.fixture
def explorer(page):
    explorer = explorer_of(page)
    explorer.get_by_role("button", name="Reset").click()
    wait_for_stride(explorer, 1)
    return explorer


def drawn_addresses(explorer):
    return [int(lane.get_attribute("data-address")) for lane in explorer.locator("svg g.lane").all()]


def counted(stride, offset=0):
    """The numbers of 32 lanes with 4-byte elements, from nothing but their bytes."""
    addresses = [4 * (stride * lane + offset) for lane in range(32)]
    touched = {address + byte for address in addresses for byte in range(4)}
    sectors, lines = len({byte // 32 for byte in touched}), len({byte // 128 for byte in touched})
    return addresses, {
        "requests": 1,
        "active": 32,
        "sectors": sectors,
        "lines": lines,
        "requested": 128,
        "transferred": 32 * sectors,
        "efficiency": 128 / (32 * sectors),
    }


def wait_for_stride(explorer, stride):
    """Until the picture shows lane 1 where this stride puts it."""
    explorer.locator(f"svg g.lane[data-lane='1'][data-address='{4 * stride}']").wait_for(timeout=60_000)


def test_every_cell_that_a_student_need_not_fill_in_runs(page):
    errors = page.locator(".jp-Notebook .jp-OutputArea-output[data-mime-type='application/vnd.jupyter.stderr']")
    assert errors.all_inner_texts() == []


def test_a_key_press_in_a_number_box_changes_the_picture(explorer):
    box = explorer.get_by_label("Stride", exact=True)
    box.focus()
    for stride in (2, 3, 4):
        box.press("ArrowUp")
        wait_for_stride(explorer, stride)
        assert (drawn_addresses(explorer), numbers(explorer)) == counted(stride)


def test_dragging_a_slider_changes_the_picture_and_its_number_box(page, explorer):
    stride = drag(page, explorer, "Stride", 80)
    assert stride > 5
    wait_for_stride(explorer, stride)
    assert (drawn_addresses(explorer), numbers(explorer)) == counted(stride)


def test_a_preset_is_chosen_with_the_keyboard(explorer):
    menu = explorer.get_by_label("Start from")
    menu.focus()
    for stride, offset in ((1, 1), (2, 0), (4, 0), (32, 0)):
        for key in ("Space", "ArrowDown", "Enter"):  # JupyterLab takes the arrows of a menu that is not open
            menu.press(key)
        explorer.locator(f"svg g.lane[data-lane='1'][data-address='{4 * (stride + offset)}']").wait_for(timeout=60_000)
        assert numbers(explorer) == counted(stride, offset)[1]


def test_the_live_sentence_says_what_the_picture_is_called(explorer):
    explorer.get_by_label("Start from").select_option("stride 2")
    wait_for_stride(explorer, 2)
    sentence = explorer.get_by_role("status").inner_text()
    assert "8 sectors in 2 lines" in sentence
    assert explorer.get_by_role("img").get_attribute("aria-label").split() == sentence.split()


def test_the_still_picture_hides_while_the_widget_lives(page, explorer):
    still = page.locator("[class^=gmc-static]")
    assert still.count() > 0
    assert not any(part.is_visible() for part in still.all())


def test_the_explorer_follows_the_dark_theme(page, explorer):
    def colours():
        return explorer.evaluate("e => [getComputedStyle(e).backgroundColor, getComputedStyle(e).color]")

    def rgb(theme):
        return [f"rgb({', '.join(str(int(c[n : n + 2], 16)) for n in (1, 3, 5))})" for c in (theme.paper, theme.ink)]

    assert colours() == rgb(LIGHT)
    choose_theme(page, "JupyterLab Dark")
    try:
        assert colours() == rgb(DARK)
        assert violations(page) == []
    finally:
        choose_theme(page, "JupyterLab Light")
    assert colours() == rgb(LIGHT)


def test_a_reader_without_widgets_sees_the_still_picture(lab, browser):
    """A notebook from somebody else: saved with outputs, not trusted, its widgets gone with their kernel."""
    cells = [nbformat.v4.new_code_cell(f"from course import explore; explore.{call}") for call in STILL]
    notebook = nbformat.v4.new_notebook(cells=cells)
    NotebookClient(notebook, timeout=120, kernel_name="python3", store_widget_state=False).execute()
    nbformat.write(notebook, lab.folder / "saved.ipynb")
    page = browser.new_page(viewport={"width": 1024, "height": 1400})
    open_notebook(page, lab, "saved.ipynb")
    picture = page.get_by_role("img", name="touches 8 sectors in 2 lines")
    picture.wait_for()
    assert picture.evaluate("image => image.complete && image.naturalWidth") > 0
    assert page.get_by_text("How many sectors").is_visible()
    answer = page.get_by_role("img", name="touches 32 sectors")
    assert not answer.is_visible()
    page.get_by_text("Choose a number first").click()
    answer.wait_for()
    assert violations(page) == []
    page.close()


def test_a_question_reveals_its_picture_after_the_commit(page):
    question = page.locator(".gmc", has=page.get_by_role("button", name="Commit")).first
    assert question.locator("svg").count() == 0
    box = question.get_by_label("Your number")
    box.fill("7")
    box.press("Tab")
    question.get_by_role("button", name="Commit").press("Enter")
    revealed = page.locator("[data-prediction='7']")
    revealed.wait_for(timeout=60_000)
    truth = int(revealed.get_attribute("data-truth"))
    assert re.search(rf"You said 7, and it is {truth}\b", revealed.inner_text())
    picture = page.locator(".gmc", has=revealed)
    assert picture.locator("svg rect.unit[data-unit]").count() == truth


def test_nothing_is_wider_than_its_place_at_1024_pixels(page, explorer):
    explorer.get_by_role("button", name="Show the address of every lane").click()
    explorer.get_by_role("region", name="Address of every lane").wait_for()
    assert too_wide(page) == []


def test_with_wide_letters_a_table_scrolls_in_its_place(page, explorer):
    with wide_letters(page):
        # ipywidgets gives its own labels and buttons a fixed width and cuts their text.
        assert [place for place in too_wide(page) if "widget-label" not in place and "widget-button" not in place] == []
        assert violations(page) == []


def test_axe_finds_nothing_in_the_outputs_but_the_unnamed_slider(page, explorer):
    assert violations(page) == []


def test_a_press_profiles_the_same_access_as_a_kernel(explorer):
    """Last: the simulator is loaded by the press, which takes a while the first time."""
    explorer.get_by_label("Start from").select_option("stride 2")
    wait_for_stride(explorer, 2)
    explorer.get_by_role("button", name="Profile this").press("Enter")
    explorer.locator("tr[data-row='Sectors']").wait_for(timeout=60_000)
    rows = {
        row.get_attribute("data-row"): [
            float(row.locator(f"[data-{column}]").get_attribute(f"data-{column}")) for column in ("model", "profile")
        ]
        for row in explorer.locator("tr[data-row]").all()
    }
    true = counted(2)[1]
    assert list(rows.values()) == [[value, value] for value in true.values()]
    assert explorer.get_by_text("value = x[stride * i + offset]").first.is_visible()
    explorer.get_by_text("The whole profile", exact=True).click()
    explorer.get_by_role("region", name="Profile of strided").wait_for()
    assert violations(explorer.page) == []
    assert too_wide(explorer.page) == []
    explorer.get_by_label("Stride", exact=True).press("ArrowUp")
    explorer.locator("tr[data-row]").first.wait_for(state="detached")


def test_the_columns_of_a_profile_do_not_run_into_each_other(page):
    cells = page.locator(".course-profile tr.site td")
    assert cells.count() > 0
    overfull = cells.evaluate_all("cells => cells.filter(c => c.scrollWidth > c.clientWidth + 1).map(c => c.innerText)")
    assert overfull == []
