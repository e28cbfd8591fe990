"""The field guide, the map and the index of words: true to the profiler, to the chapters and to each other."""

from __future__ import annotations

import re
from dataclasses import fields
from xml.etree import ElementTree

import nbformat
import pytest

from course import explore
from course.explorers import _guide as module
from course.figures import course_map, field_guide
from course.figures.field_guide import CHART, GUIDE
from course.profiling.profile import Profile
from course.terms import CHAPTERS as ON_THE_MAP
from course.terms import TERMS

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def shown(monkeypatch):
    sent = []
    monkeypatch.setattr(module, "show_html", sent.append)
    return sent


def words(svg):
    return [text.text for text in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def test_every_step_and_row_leads_to_a_chapter():
    known = {chapter.name for chapter in ON_THE_MAP}
    assert {one.chapter for one in (*GUIDE, *CHART, *TERMS)} == known


def test_what_the_guide_reads_in_a_profile_is_there():
    offered = {one.name for one in fields(Profile)} | {name for name in dir(Profile) if not name.startswith("_")}
    named = {row.here for row in GUIDE if row.here}
    assert named <= offered and len(named) >= 5


def test_the_metrics_have_the_form_of_nsight_computes():
    metrics = [name for row in GUIDE for name in row.counters if not name.startswith("compute-sanitizer")]
    assert len(metrics) > 10
    for name in metrics:
        assert re.fullmatch(r"[a-z0-9]+__[a-z0-9_]+(\.[a-z_]+){0,2}", name), name


@pytest.mark.parametrize("one", TERMS, ids=lambda one: one.name)
def test_a_word_is_used_in_the_chapter_that_teaches_it(one, root):
    path = root / "source" / one.chapter / f"{one.chapter}.ipynb"
    text = "\n".join(cell.source for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "markdown")
    plain = re.sub(r"[*`_\s-]+", " ", text).lower()
    stem = re.sub(r"[\s-]+", " ", one.name.lower())
    assert stem in plain or stem.rstrip("s") in plain


def test_no_word_stands_twice():
    names = [one.name for one in TERMS]
    assert len(set(names)) == len(names)


def test_the_pictures_say_what_their_alt_text_says(shown):
    for svg, alt in (
        (course_map.map_svg(), course_map.map_sentence()),
        (field_guide.chart_svg(), field_guide.chart_sentence()),
    ):
        told = " ".join(words(svg))
        for one in ON_THE_MAP if "chapters in order" in alt else CHART:
            assert (one.answers if hasattr(one, "answers") else one.asks) in told
            assert (one.answers if hasattr(one, "answers") else one.asks) in alt
    for name in ("course_map", "field_guide", "terms"):
        getattr(explore, name)()
    assert all('alt="' in html for html in shown[:2])
    assert shown[2].index(">aligned<") < shown[2].index(">stride<") < shown[2].index(">warp<")


def test_the_table_has_a_header_for_every_column():
    table = field_guide.table()
    assert table.count('<th scope="col">') == 6 and table.count("<tr>") == len(GUIDE) + 1
