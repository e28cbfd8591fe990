"""What the browser tests of all explorers ask a page."""

from __future__ import annotations

import re
from contextlib import contextmanager

from axe_playwright_python.sync_playwright import Axe


def violations(page):
    """What axe-core finds in the outputs, but for the slider: ipywidgets gives it no name, its number box has one."""
    found = Axe().run(page, context={"include": [[".jp-OutputArea-output"]]}).response["violations"]
    return [
        (violation["id"], node["html"][:200])
        for violation in found
        for node in violation["nodes"]
        if not (violation["id"] == "aria-input-field-name" and "noUi-handle" in node["html"])
    ]


def choose_theme(page, name):
    page.get_by_role("menuitem", name="Settings", exact=True).click()
    page.locator(".lm-Menu-item", has_text=re.compile("^Theme$")).hover()
    page.locator(".lm-Menu-item", has_text=re.compile(f"^{name}$")).click()
    page.locator(f"body[data-jp-theme-name='{name}']").wait_for(state="attached")


def too_wide(page):
    """What is wider than its place in the outputs, by tag and class.

    What lies in a region that scrolls (and that the keyboard reaches) may be wide, and what is folded away too.
    """
    return page.evaluate(
        """() => [...document.querySelectorAll('.jp-OutputArea-output')].flatMap(output => {
            const limit = output.getBoundingClientRect().right + 1;
            const scrolls = e => e !== output && e.getAttribute('tabindex') === '0';
            const inside = e => {
                const region = e.parentElement.closest('[tabindex="0"]');
                return region && output.contains(region) && scrolls(region);
            };
            return [output, ...output.querySelectorAll('*')]
                .filter(e => !inside(e) && !e.closest('details:not([open]) > :not(summary)'))
                .filter(e => e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).overflowX !== 'visible'
                             && e.clientWidth > 1 && !scrolls(e) || e.getBoundingClientRect().right > limit)
                .map(e => `${e.tagName}.${e.getAttribute('class')}`);
        })"""
    )


@contextmanager
def wide_letters(page):
    """Text as wide as WCAG 1.4.12 lets a reader set it; another computer's letters are rarely as wide."""
    style = page.add_style_tag(content="* { letter-spacing: 0.12em !important; word-spacing: 0.16em !important }")
    yield
    style.evaluate("element => element.remove()")


def numbers(explorer):
    """The numbers beside the picture, by name."""
    return {
        dd.get_attribute("data-name"): float(dd.get_attribute("data-value"))
        for dd in explorer.locator("dl.numbers dd").all()
    }


def beside(explorer):
    """What "Profile this" sets side by side: name -> (model, profile)."""
    rows = explorer.locator("table.beside tbody tr").all()
    cells = [(row, row.locator("[data-model]"), row.locator("[data-profile]")) for row in rows]
    return {
        row.get_attribute("data-row"): (
            float(model.get_attribute("data-model")),
            float(profile.get_attribute("data-profile")),
        )
        for row, model, profile in cells
    }


def drag(page, explorer, name, pixels):
    """Drag the slider of a number by its handle; returns the number it arrives at."""
    box = explorer.get_by_label(name, exact=True)
    before = box.input_value()
    handle = box.locator("xpath=ancestor::*[contains(@class, 'widget-hbox')][1]").locator(".noUi-handle")
    handle.scroll_into_view_if_needed()
    place = handle.bounding_box()
    x, y = place["x"] + place["width"] / 2, place["y"] + place["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + pixels, y, steps=8)
    page.mouse.up()
    # The kernel links slider and box: they agree when the last of its answers has come.
    page.wait_for_function(
        "([box, handle, before]) => box.value !== before && Number(box.value) === Number(handle.ariaValueNow)",
        arg=[box.element_handle(), handle.element_handle(), before],
    )
    return int(box.input_value())
