"""The chart of a pipeline, held to a schedule that these tests work out tile by tile."""

from __future__ import annotations

import base64
import re
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course.figures import pipeline as figure
from course.models.pipeline import pipeline

SVG = "{http://www.w3.org/2000/svg}"


def both(tiles, load, compute, stages, at_once=1, tile_bytes=1024):
    return [pipeline(tiles, load, compute, n, loads_at_once=at_once, tile_bytes=tile_bytes) for n in (1, stages)]


def bars(serial, chosen):
    """(kind, tile, start, end) of every bar: of the upper chart, then of the lower one."""
    tree = ElementTree.fromstring(figure.pipeline_svg(serial, chosen))
    found = [
        (bar.get("data-kind"), int(bar.get("data-tile")), float(bar.get("data-start")), float(bar.get("data-end")), bar)
        for bar in tree.iter(f"{SVG}g")
        if bar.get("data-kind")
    ]
    return found[: 2 * serial.tiles], found[2 * serial.tiles :]


def by_hand(tiles, load, compute, stages):
    """The same schedule for one load at a time: a load waits for the one before it and for its buffer."""
    loads, computations = [], []
    for tile in range(tiles):
        free = computations[tile - stages][1] if tile >= stages else 0
        before = loads[-1][1] if loads else 0
        loads.append((max(free, before), max(free, before) + load))
        start = max(loads[tile][1], computations[-1][1] if computations else 0)
        computations.append((start, start + compute))
    return loads, computations


times = st.integers(1, 12)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 8), times, times, st.integers(1, 4))
def test_the_bars_lie_where_tiles_are_loaded_and_computed(tiles, load, compute, stages):
    for drawn, count in zip(bars(*both(tiles, load, compute, stages)), (1, stages), strict=True):
        loads, computations = by_hand(tiles, load, compute, count)
        assert [bar[2:4] for bar in drawn if bar[0] == "load"] == loads
        assert [bar[2:4] for bar in drawn if bar[0] == "compute"] == computations


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 8), times, times, st.integers(2, 4), st.integers(1, 3))
def test_no_two_bars_of_one_buffer_overlap_and_each_buffer_has_its_row(tiles, load, compute, stages, at_once):
    _, drawn = bars(*both(tiles, load, compute, stages, at_once))
    rows = {}
    for *_, bar in drawn:
        rect = bar.find(f"{SVG}rect")
        left, width = float(rect.get("x")), float(rect.get("width"))
        rows.setdefault((rect.get("y"), int(bar.get("data-tile")) % stages), []).append((left, left + width))
    assert len(rows) == min(stages, tiles)
    assert len({y for y, _ in rows}) == len(rows)
    for places in rows.values():
        assert all(right <= left + 0.02 for (_, right), (left, _) in pairwise(sorted(places)))


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 8), times, times, st.integers(1, 4))
def test_both_charts_share_one_axis_that_another_stage_does_not_change(tiles, load, compute, stages):
    serial, chosen = both(tiles, load, compute, stages)
    scale = {
        round(float(bar.find(f"{SVG}rect").get("width")) / (end - start), 1)
        for drawn in bars(serial, chosen)
        for *_, start, end, bar in drawn
    }
    assert max(scale) - min(scale) <= 0.2  # widths are rounded
    ticks = [
        re.findall(r">([\d.]+)</text>", figure.pipeline_svg(serial, one).split('class="axis"')[1])[:13]
        for one in (serial, chosen)
    ]
    assert ticks[0] == ticks[1]
    assert float(ticks[0][-1]) >= serial.total_time


def test_the_numbers_of_three_tiles_are_those_of_the_chapter():
    serial, chosen = both(3, 4, 6, 2, tile_bytes=8192)
    tree = ElementTree.fromstring(figure.numbers(chosen, 7))
    shown = {dd.get("data-name"): float(dd.get("data-value")) for dd in tree.iter("dd")}
    assert (serial.total_time, shown["time"]) == (30, 22)
    assert shown == {
        "time": 22, "speed_up": 30 / 22, "idle": 4, "waits": 3, "barriers": 3, "shared": 16384, "blocks": 7,
    }  # fmt: skip
    words = figure.sentence(serial, chosen)
    assert "3 tiles in 1 stage take 30, in 2 stages 22: 1.364 times as fast" in words
    assert "16,384 B of shared memory instead of 8,192 B" in words


def test_no_gain_is_called_no_gain():
    assert "10, in 2 stages 10: no faster" in figure.sentence(*both(1, 4, 6, 2))


def test_the_chart_that_stands_alone_is_an_image_with_its_sentence():
    serial, chosen = both(3, 4, 6, 2)
    image = ElementTree.fromstring(figure.pipeline_image(serial, chosen))
    assert image.get("alt") == figure.sentence(serial, chosen)
    inside = ElementTree.fromstring(base64.b64decode(image.get("src").partition("base64,")[2]))
    assert inside.get("aria-label") == image.get("alt")


def test_more_stages_than_rows_are_refused():
    with pytest.raises(ValueError, match="expected 1 and 1 to 4"):
        figure.pipeline_svg(*both(8, 4, 6, 5))
