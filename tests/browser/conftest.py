"""Fixtures: a JupyterLab on a copy of the released chapters, a browser, and an opened notebook."""

from __future__ import annotations

import secrets
import shutil

import nbformat
import pytest

from tools import in_browser


@pytest.fixture(scope="session")
def lab(root, tmp_path_factory):
    """JupyterLab on a copy of `release/`, as a student has it."""
    folder = tmp_path_factory.mktemp("student")
    shutil.copytree(root / "release", folder / "release")
    with in_browser.jupyterlab(folder / "release") as server:
        yield server


@pytest.fixture(scope="session")
def browser():
    with in_browser.chromium() as started:
        yield started


@pytest.fixture(scope="module")
def notebook_of(lab, browser):
    """A function: these calls in a fresh notebook, one a cell, opened and run in a page 1024 pixels wide."""
    pages = []

    def opened(*calls):
        cells = [nbformat.v4.new_code_cell(source) for source in ("from course import explore", *calls)]
        name = f"{secrets.token_hex(4)}.ipynb"
        # Without the name of a kernel JupyterLab asks for one.
        kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
        nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=kernel), lab.folder / name)
        page = browser.new_page(viewport={"width": 1024, "height": 1400})
        pages.append(page)
        in_browser.open_notebook(page, lab, name)
        in_browser.run_all(page)
        return page

    yield opened
    for page in pages:
        page.close()
