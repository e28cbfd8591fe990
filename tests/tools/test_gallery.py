"""The gallery: nothing that a student can see is missing, and nothing has no words."""

from __future__ import annotations

import re

import pytest

from course import explore
from tools import gallery

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def shown():
    return list(gallery.pictures())


def test_every_preset_of_every_explorer_is_shown(shown):
    from course.explorers._coalescing import PRESETS as ACCESSES
    from course.explorers._pipeline import PRESETS as PIPELINES

    titles = {(one.chapter, one.title) for one in shown}
    assert {("coalescing", name) for name in ACCESSES} <= titles
    assert {("pipeline", name) for name in PIPELINES} <= titles
    chapters = {one.chapter for one in shown}
    with_presets = {name for name in explore.__all__ if "preset" in getattr(explore, name).__code__.co_varnames}
    assert with_presets <= chapters


def test_each_picture_stands_there_light_and_dark_with_its_alt_text(shown):
    page = gallery.gallery(shown)
    assert page.count('<div class="dark">') == page.count("<b>Alt text: </b>") == len(shown)
    assert len(re.findall("<section>", page)) == len(shown)


def test_the_page_needs_nothing_from_elsewhere(shown):
    page = gallery.gallery(shown)
    assert not re.findall(r'(?:src|href)="(?!data:|#)', page)
    assert "url(" not in page and "<script" not in page
