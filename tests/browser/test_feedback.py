"""A page of feedback in a real browser: what a student wrote shows, and does not run."""

from __future__ import annotations

import pytest
from nbconvert import HTMLExporter
from nbformat.v4 import new_markdown_cell, new_notebook

from autograder.feedback import without_scripts

pytestmark = pytest.mark.slow

HOSTILE = [
    "<script>document.title = 'taken over'</script>",
    "<img src='nowhere.png' onerror=\"document.title = 'taken over'\">",
    "<svg onload=\"document.title = 'taken over'\"></svg>",
    "<iframe srcdoc=\"<script>parent.document.title = 'taken over'</script>\"></iframe>",
]


def title(browser, tmp_path, page: str) -> str:
    """What the page is called after everything in it had its chance."""
    place = tmp_path / "page.html"
    place.write_text(page, encoding="utf-8")
    opened = browser.new_page()
    try:
        # Scripts run, and images fail, before a page counts as loaded; so do the frames in it.
        opened.goto(place.as_uri(), wait_until="load")
        assert opened.get_by_text("My answer").is_visible()
        return opened.title()
    finally:
        opened.close()


@pytest.mark.parametrize("text", HOSTILE)
def test_a_students_script_does_not_run_in_the_feedback(browser, tmp_path, text):
    notebook = new_notebook(cells=[new_markdown_cell(f"My answer\n\n{text}")])
    page, _ = HTMLExporter(template_name="classic").from_notebook_node(notebook)
    assert title(browser, tmp_path, page) == "taken over", "without protection it runs"
    assert title(browser, tmp_path, without_scripts(page)) != "taken over"
