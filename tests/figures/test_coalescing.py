"""The picture of one request, held to counts that these tests make themselves from the bytes of each lane."""

from __future__ import annotations

import base64
import re
from itertools import pairwise
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course.figures import coalescing as figure
from course.figures import style, svg
from course.figures.sweep import stride_sweep, stride_sweep_sentence
from course.models import coalescing as model

SVG = "{http://www.w3.org/2000/svg}"


def request(indices, size=4, active=None, unit=32):
    addresses = model.index_addresses(indices, size)
    mask = model.active_lanes(active, addresses.shape)
    units = model.units_touched(addresses, size, mask, unit_bytes=unit)
    return addresses, mask, units, model.coalesce(addresses, size, mask, unit_bytes=unit)


def draw(*args, **kwargs):
    return ElementTree.fromstring(figure.request_svg(*request(*args, **kwargs)))


def by_class(tree, name):
    return [part for part in tree.iter() if name in part.get("class", "").split()]


def subpaths(tree, name):
    """Places where a path of this class begins, the legend's left out."""
    starts = [re.findall(r"M([\d.]+) ([\d.]+)", path.get("d", "")) for path in by_class(tree, name)]
    return [(float(x), float(y)) for start in starts for x, y in start if float(y) < 270]


def drawn_units(tree):
    return [int(box.get("data-unit")) for box in by_class(tree, "unit") if box.get("data-unit")]


requests = st.fixed_dictionaries(
    {
        "indices": st.sampled_from((32, 64)).flatmap(
            lambda lanes: st.lists(st.integers(0, 3000), min_size=lanes, max_size=lanes)
        ),
        "size": st.sampled_from(model.ACCESS_BYTES),
        "active": st.integers(0, 32),
        "unit": st.sampled_from((32, 64, 128)),
    }
)


@settings(max_examples=60, deadline=None)
@given(requests)
def test_the_boxes_drawn_are_the_units_that_the_bytes_lie_in(case):
    touched = {
        (index * case["size"] + byte) // case["unit"]
        for index in case["indices"][: case["active"]]
        for byte in range(case["size"])
    }
    assert drawn_units(draw(**case)) == sorted(touched)


@settings(max_examples=60, deadline=None)
@given(requests)
def test_each_used_rectangle_covers_exactly_the_bytes_of_its_lane(case):
    tree = draw(**case)
    unit, size = case["unit"], case["size"]
    boxes = {
        int(box.get("data-unit")): tuple(float(box.get(name)) for name in ("x", "y", "width", "height"))
        for box in by_class(tree, "unit")
        if box.get("data-unit")
    }
    row = unit // 8
    for lane, index in enumerate(case["indices"][: case["active"]]):
        group = next(g for g in by_class(tree, "lane") if g.get("data-lane") == str(lane))
        (used,) = by_class(group, "used")
        left, top, width, height = boxes[index * size // unit]
        first = index * size % unit
        assert float(used.get("x")) == pytest.approx(left + first % row * width / row, abs=0.03)
        assert float(used.get("y")) == pytest.approx(top + first // row * height / 8, abs=0.03)
        area = float(used.get("width")) * float(used.get("height"))
        assert area / (width * height) == pytest.approx(size / unit, rel=0.02)


@settings(max_examples=30, deadline=None)
@given(requests)
def test_everything_stays_inside_the_frame_and_the_frame_never_changes(case):
    tree = draw(**case)
    assert tree.get("viewBox") == f"0 0 {figure.WIDTH} {figure.HEIGHT}"
    for rect in tree.iter(f"{SVG}rect"):
        assert float(rect.get("x")) >= 0
        assert float(rect.get("x")) + float(rect.get("width")) <= figure.WIDTH
        assert float(rect.get("y")) + float(rect.get("height")) <= figure.HEIGHT


def test_every_lane_has_a_box_with_its_number():
    for lanes in (32, 64):
        groups = by_class(draw(np.arange(lanes)), "lane")
        assert [group.find(f"{SVG}text").text for group in groups] == [str(lane) for lane in range(lanes)]


def test_an_inactive_lane_is_shown_without_a_link():
    tree = draw(np.arange(32), active=20)
    idle = [group for group in by_class(tree, "lane") if "idle" in group.get("class")]
    assert [int(group.get("data-lane")) for group in idle] == list(range(20, 32))
    assert not any(by_class(group, "link") for group in idle)


def test_bytes_left_out_between_sectors_are_marked():
    assert subpaths(draw(np.arange(32)), "gap") == []
    assert len(subpaths(draw(np.arange(32) * 32), "gap")) == 31


def test_a_line_shows_which_of_its_four_sectors_move():
    tree = draw(np.array([0, 8] * 16))  # bytes 0 and 32: the first two sectors of line 0
    assert len(subpaths(tree, "moved")) == 2
    assert len(subpaths(tree, "unmoved")) == 2


def test_dead_bytes_are_hatched_and_not_only_coloured():
    tree = draw(np.arange(32) * 8)
    assert len(subpaths(tree, "hatch")) == 32


def test_numbers_below_boxes_never_run_into_each_other():
    tree = draw(np.arange(64) * 64, 16)
    labels = [text for text in by_class(tree, "quiet") if "num" in text.get("class")]
    for y in {label.get("y") for label in labels}:
        row = [label for label in labels if label.get("y") == y]
        ends = [(float(t.get("x")) - 3 * len(t.text), float(t.get("x")) + 3 * len(t.text)) for t in row]
        assert all(right <= left for (_, right), (left, _) in pairwise(ends))


def test_no_text_is_smaller_than_nine_pixels():
    sizes = [float(size) for size in re.findall(r"text[^}]*?font(?:-size)?:(?:\d00 )?([\d.]+)px", style.CSS)]
    assert sizes and min(sizes) >= 9


def test_the_alt_text_is_one_sentence_with_the_numbers():
    tree = draw(np.arange(32) * 8)
    assert tree.get("role") == "img"
    assert tree.get("aria-label") == (
        "32 of 32 lanes each ask for 4 bytes: the request touches 32 sectors in 8 lines, so 128\xa0B are requested, "
        "1024\xa0B are transferred, and the efficiency is 12.5\xa0%."
    )


def test_the_sentence_says_what_more_than_100_percent_means():
    *_, result = request(np.zeros(32, int))
    assert "1 sector in 1 line" in figure.sentence(result, 32)
    assert "400\xa0% (lanes share bytes)" in figure.sentence(result, 32)


def test_an_idle_warp_is_drawn_and_said():
    tree = draw(np.arange(32), active=0)
    assert drawn_units(tree) == []
    assert tree.get("aria-label") == "None of the 32 lanes is active, so no request is issued and no byte moves."


def test_lines_are_named_lines_when_they_are_the_unit():
    addresses, mask, units, result = request(np.arange(32) * 8, unit=128)
    assert "touches 8 lines, so" in figure.sentence(result, 32)
    words = [text.text for text in ElementTree.fromstring(figure.request_svg(addresses, mask, units, result)).iter()]
    assert words.count("Lines") == 1
    assert "Sectors" not in words


def test_numbers_carry_their_raw_values():
    *_, result = request(np.arange(32) * 8 + 1, active=31)
    tree = ElementTree.fromstring(figure.numbers(result))
    values = {dd.get("data-name"): float(dd.get("data-value")) for dd in tree.iter("dd")}
    assert values == {
        "requests": 1,
        "active": 31,
        "sectors": 31,
        "lines": 8,
        "requested": 124,
        "transferred": 992,
        "efficiency": 0.125,
    }


def test_the_address_table_lists_lane_address_sector_and_line():
    addresses, mask, *_ = request(np.arange(32) * 8, active=31)
    tree = ElementTree.fromstring(figure.address_table(addresses, mask))
    assert (tree.get("tabindex"), tree.get("role")) == ("0", "region")
    rows = [[cell.text for cell in row] for row in tree.iter("tr")]
    assert rows[0] == ["Lane", "Address", "Sector", "Line"]
    assert rows[6] == ["5", "160", "5", "1"]
    assert rows[32] == ["31", "inactive", "–", "–"]
    assert {cell.get("scope") for cell in tree.iter("th")} == {"col", "row"}


def test_the_picture_that_stands_alone_is_an_svg_image_with_alt_text():
    addresses, mask, units, result = request(np.arange(32))
    image = ElementTree.fromstring(figure.request_image(addresses, mask, units, result))
    assert image.get("alt") == figure.sentence(result, 32)
    inside = ElementTree.fromstring(base64.b64decode(image.get("src").partition("base64,")[2]))
    assert inside.get("class") == "gmc"
    assert "@media" not in inside.find(f"{SVG}style").text  # always light: a page may remove what makes it dark


def test_markup_in_text_is_escaped():
    assert svg.text(0, 1, '<b> & "x"\x00') == '<text x="0" y="1">&lt;b&gt; &amp; &quot;x&quot;\ufffd</text>'
    tree = ElementTree.fromstring(svg.element("p", title="a<b>'\"&", data_x_y=1.23456))
    assert tree.attrib == {"title": "a<b>'\"&", "data-x-y": "1.23"}


@pytest.mark.parametrize("theme", [style.LIGHT, style.DARK])
def test_text_stands_out_from_its_background_in_both_themes(theme):
    for text in (theme.ink, theme.quiet):
        for ground in (theme.paper, theme.panel):
            assert contrast(text, ground) >= 4.5
    assert contrast(theme.ink, theme.used_tint) >= 4.5
    for part in (theme.used, theme.rule):
        assert contrast(part, theme.paper) >= 3


def contrast(one, other):
    """WCAG 2 contrast ratio of two #rrggbb colours."""

    def luminance(colour):
        parts = [int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)]
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def sweep():
    strides = np.arange(1, 65)
    results = [model.coalesce(model.lane_addresses(int(stride))) for stride in strides]
    return strides, [r.sectors_per_request for r in results], [r.efficiency for r in results]


def test_the_sweep_plots_the_values_it_is_given():
    left, right = stride_sweep(*sweep()).axes
    assert left.lines[0].get_ydata()[[0, 1, 7, 63]].tolist() == [4, 8, 32, 32]
    assert right.lines[0].get_ydata()[[0, 1, 7, 63]].tolist() == [100, 50, 12.5, 12.5]


def test_the_sweep_has_the_same_axes_whatever_the_values():
    strides = np.arange(1, 65)
    flat = stride_sweep(strides, np.full(64, 4.0), np.ones(64))
    assert [a.get_ylim() for a in flat.axes] == [a.get_ylim() for a in stride_sweep(*sweep()).axes]
    assert [a.get_xlim() for a in flat.axes] == [a.get_xlim() for a in stride_sweep(*sweep()).axes]


def test_the_sweep_says_its_numbers_in_one_sentence():
    assert stride_sweep_sentence(*sweep()) == (
        "Two plots over the stride: sectors per request grow from 4 at stride 1 to 32 at stride 8 and stay there, "
        "while the efficiency falls from 100 % to 12.5 %."
    )


def test_the_sweep_refuses_columns_of_different_length():
    with pytest.raises(ValueError, match="expected one value of each per stride"):
        stride_sweep([1, 2], [4], [1.0, 0.5])


def test_a_plot_is_an_image_with_alt_text_and_touches_no_pyplot_state():
    import matplotlib.pyplot as plt

    before = plt.get_fignums()
    image = ElementTree.fromstring(style.image(stride_sweep(*sweep()), "words & <more>"))
    assert image.get("alt") == "words & <more>"
    assert base64.b64decode(image.get("src").partition("base64,")[2]).startswith(b"\x89PNG")
    assert len(image.get("src")) < 40_000
    assert plt.get_fignums() == before
