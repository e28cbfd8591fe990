"""The picture of a shared access, held to counts that these tests make themselves from the words of each lane."""

from __future__ import annotations

import base64
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course.figures import banks as figure
from course.models import banks as model

SVG = "{http://www.w3.org/2000/svg}"


def drawn(indices, size=4, kind="load", tile=None):
    """The picture of lanes that want these elements."""
    tile = tile or model.Tile(1, 4096, 0, size)
    addresses = np.array(indices) * size
    result = model.wavefronts(addresses, size, kind)
    deliveries = model.schedule(addresses, size, kind)
    return ElementTree.fromstring(figure.access_svg(tile, addresses, result, deliveries, kind))


def boxes(tree):
    """What the picture says: (bank, wavefront, first word, lanes) of every box."""
    return [
        (
            *(int(rect.get(f"data-{name}")) for name in ("bank", "wavefront", "word")),
            [int(lane) for lane in rect.get("data-lanes").split()],
        )
        for rect in tree.iter(f"{SVG}rect")
        if rect.get("data-bank")
    ]


wanted = st.fixed_dictionaries(
    {
        "indices": st.lists(st.integers(0, 999), min_size=1, max_size=32),
        "size": st.sampled_from((1, 2, 4, 8, 16)),
        "kind": st.sampled_from(("load", "store")),
    }
)


@settings(max_examples=60, deadline=None)
@given(wanted)
def test_every_lane_is_served_once_and_from_the_bank_of_its_word(case):
    served = []
    span = max(case["size"] // 4, 1)
    for bank, _, word, lanes in boxes(drawn(**case)):
        served += lanes
        assert bank == word % 32
        for lane in lanes:
            assert case["indices"][lane] * case["size"] // 4 // span * span == word
    assert sorted(served) == list(range(len(case["indices"])))


@settings(max_examples=60, deadline=None)
@given(wanted)
def test_in_one_wavefront_a_bank_delivers_one_word_only(case):
    span = max(case["size"] // 4, 1)
    at_work = [(wavefront, bank + n) for bank, wavefront, _, _ in boxes(drawn(**case)) for n in range(span)]
    assert len(at_work) == len(set(at_work))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 999), min_size=32, max_size=32))
def test_the_rows_in_use_are_the_most_words_that_one_bank_must_deliver(indices):
    tree = drawn(indices)
    words = set(indices)
    cost = max(sum(word % 32 == bank for word in words) for bank in range(32))
    assert {wavefront for _, wavefront, _, _ in boxes(tree)} == set(range(cost))
    assert f"takes {cost} wavefront" in tree.get("aria-label")


def test_a_box_lies_in_the_column_of_its_bank_and_the_row_of_its_wavefront():
    tree = drawn([33 * n for n in range(16)] + [64 * n for n in range(16)])
    places = {
        (int(r.get("data-bank")), int(r.get("data-wavefront"))): (float(r.get("x")), float(r.get("y")))
        for r in tree.iter(f"{SVG}rect")
        if r.get("data-bank")
    }
    heads = {int(t.text): float(t.get("x")) for t in tree.iter(f"{SVG}text") if t.get("y") == "40" and t.text.isdigit()}
    assert sorted(heads) == list(range(32))
    for (bank, wavefront), (x, y) in places.items():
        assert 0 < heads[bank] - x < 20
        assert y == pytest.approx(places[0, 0][1] + wavefront * 12.5, abs=0.02)


def test_colliding_words_have_a_mark_of_their_own():
    late = [r for r in drawn([0, 32, 1, 2]).iter(f"{SVG}rect") if r.get("class") == "box late" and r.get("data-bank")]
    assert [r.get("data-lanes") for r in late] == ["0", "1"]


def test_a_word_for_several_lanes_says_so():
    texts = [t.text for t in drawn([5] * 32).iter(f"{SVG}text")]
    assert "0+" in texts
    assert [lanes for *_, lanes in boxes(drawn([5] * 32))] == [list(range(32))]


def test_groups_of_lanes_are_parted_by_a_line():
    def splits(tree):
        return [p.get("d") for p in tree.iter(f"{SVG}path") if p.get("class") == "split"]

    in_legend = 1
    assert len(splits(drawn(range(32), 4))) == in_legend
    assert splits(drawn(range(32), 16))[0].count("M") + len(splits(drawn(range(32), 16))) - 1 == 3 + in_legend


def test_the_tile_shows_the_wanted_elements_and_hatches_the_pad():
    tile = model.Tile(32, 32, 1)
    tree = drawn([33 * row for row in range(32)], tile=tile)
    marked = [(int(r.get("data-row")), int(r.get("data-column"))) for r in tree.iter(f"{SVG}rect") if r.get("data-row")]
    assert marked == [(row, 0) for row in range(32)]
    hatched = [p for p in tree.iter(f"{SVG}path") if p.get("class") == "hatch thin"]
    assert len(hatched) == 2  # the pad and the legend
    assert len([p for p in drawn([0]).iter(f"{SVG}path") if p.get("class") == "hatch thin"]) == 1


@settings(max_examples=30, deadline=None)
@given(wanted)
def test_everything_stays_inside_a_frame_that_never_changes(case):
    tree = drawn(**case)
    assert tree.get("viewBox") == f"0 0 {figure.WIDTH} {figure.HEIGHT}"
    for rect in tree.iter(f"{SVG}rect"):
        assert float(rect.get("x")) >= 0
        assert float(rect.get("x")) + float(rect.get("width")) <= figure.WIDTH
        assert float(rect.get("y")) + float(rect.get("height")) <= figure.HEIGHT


@pytest.mark.parametrize(
    ("rows", "columns", "pad", "size"), [(1, 1, 0, 4), (64, 64, 8, 16), (64, 1, 0, 1), (1, 1985, 0, 8), (16, 16, 1, 4)]
)
def test_a_tile_of_any_shape_fits_its_place(rows, columns, pad, size):
    tile = model.Tile(rows, columns, pad, size)
    tree = drawn([rows * (columns + pad) - 1 - pad], size, tile=tile)
    (mark,) = [r for r in tree.iter(f"{SVG}rect") if r.get("data-row")]
    assert float(mark.get("x")) >= 0 and float(mark.get("x")) + float(mark.get("width")) < 180
    assert float(mark.get("y")) + float(mark.get("height")) < 46 + 170


def test_the_sentence_counts_one_of_everything_in_the_singular():
    tile = model.Tile(1, 1, 0, 1)
    result = model.wavefronts([0], 1, "store")
    assert figure.sentence(result, tile, 1, "store") == (
        "1 lane stores 1 byte each to a tile [1][1]: the access takes 1 wavefront where 1 would do, no bank conflict."
    )
    idle = model.wavefronts(np.zeros(32, int), 4, "load", 0)
    assert figure.sentence(idle, tile, 4, "load") == "No lane is active, so no shared access is issued."


@pytest.mark.parametrize(("degree", "article"), [(2, "a 2-way"), (8, "an 8-way"), (11, "an 11-way"), (18, "an 18-way")])
def test_the_sentence_has_the_right_article(degree, article):
    result = model.wavefronts(np.arange(degree) * 128)
    assert article in figure.sentence(result, model.Tile(degree, 32), 4, "load")


def test_the_picture_that_stands_alone_is_an_svg_image_with_alt_text():
    tile, addresses = model.Tile(32, 32), np.arange(32) * 128
    result, deliveries = model.wavefronts(addresses), model.schedule(addresses)
    image = ElementTree.fromstring(figure.access_image(tile, addresses, result, deliveries, "load"))
    assert "32-way bank conflict" in image.get("alt")
    inside = ElementTree.fromstring(base64.b64decode(image.get("src").partition("base64,")[2]))
    assert "@media" not in inside.find(f"{SVG}style").text


def test_numbers_carry_their_raw_values():
    tile, addresses = model.Tile(32, 32, 4), np.arange(32) * 144
    html = figure.numbers(model.wavefronts(addresses), tile, model.schedule(addresses))
    values = {dd.get("data-name"): float(dd.get("data-value")) for dd in ElementTree.fromstring(html).iter("dd")}
    assert values == {
        "wavefronts": 4, "ideal": 1, "extra": 3, "degree": 4, "words": 32, "banks": 8, "shared": 32 * 36 * 4,
        "pad": 32 * 4 * 4,
    }  # fmt: skip
