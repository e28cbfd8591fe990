"""Fixtures: a JupyterLab on a copy of the released chapters, a browser, and an opened notebook."""

from __future__ import annotations

import shutil

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
