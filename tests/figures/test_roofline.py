"""The roofline and the plots that change: lines, words and bitmaps read back from the Figure."""

from __future__ import annotations

import base64
import io
import math
import re
from itertools import combinations
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from course.figures import roofline as figure
from course.figures import style
from course.figures.labels import Label, spread, stack
from course.figures.live import Layer, LivePlot
from course.figures.roofline import Point, Span
from course.models.roofline import Machine, machine

A100 = Machine("A100", 19.5, 2000)
SAXPY = Point("saxpy", 2 / 12)


@pytest.fixture(scope="module")
def plot():
    """One plot that is drawn again and again, as in the explorer."""
    return figure.RooflinePlot()


def roofs(drawn):
    """The lines from edge to edge of the upper axes: intensities and TFLOP/s."""
    lines = [line.get_xydata() for line in drawn.axes[0].lines]
    return [data for data in lines if data[0, 0] == 1 / 32 and data[-1, 0] == 2048]


def markers(drawn, shape):
    return [line.get_xydata()[0] for line in drawn.axes[0].lines if line.get_marker() == shape]


def words(drawn):
    """What stands in the figure, with the rectangle that it covers."""
    renderer = drawn.canvas.get_renderer()
    texts = [*drawn.texts, *(text for axes in drawn.axes for text in axes.texts)]
    return [(text.get_text(), text.get_window_extent(renderer)) for text in texts]


def pixels(html):
    (source,) = re.findall(r'src="data:image/png;base64,([^"]+)"', html)
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(source))).convert("RGB")).astype(int)


def test_the_roof_is_the_smaller_of_bandwidth_and_peak():
    (roof,) = roofs(figure.roofline([A100]))
    for intensity, tflops in roof:
        assert tflops == pytest.approx(min(intensity * 2.0, 19.5))
    assert roof[1].tolist() == pytest.approx([9.75, 19.5])


def test_the_ridge_of_every_machine_is_marked():
    drawn = figure.roofline([A100, Machine("H100", 66.9, 3350), Machine("CPU", 4.4, 89.6)])
    assert len(roofs(drawn)) == 3
    ridges = [9.75, 66.9 / 3.35, 4.4 / 0.0896]
    assert sorted(float(x) for x, _ in markers(drawn, "D")) == pytest.approx(sorted(ridges))


def test_machines_differ_by_more_than_colour():
    drawn = figure.roofline([Machine(name, peak, 1000) for name, peak in (("a", 1), ("b", 10), ("c", 90), ("d", 900))])
    lines = [line for line in drawn.axes[0].lines if line.get_xydata()[-1, 0] == 2048]
    assert len({str(line._dash_pattern) for line in lines}) == 4


def test_a_kernel_stands_on_the_roof_at_its_intensity():
    drawn = figure.roofline([A100], [SAXPY, Point("dense", 100, chosen=True)])
    assert sorted(tuple(point) for point in markers(drawn, "o")) == [
        pytest.approx((2 / 12, 2 / 6)),
        pytest.approx((100, 19.5)),
    ]


def test_a_kernel_without_flop_stands_at_the_left_edge_with_another_mark():
    drawn = figure.roofline([A100], [Point("copy", 0)])
    assert [tuple(point) for point in markers(drawn, "<")] == [pytest.approx((1 / 32, 2 / 32))]
    assert markers(drawn, "o") == []


def test_a_measured_speed_is_marked_where_it_was_even_above_the_roof():
    drawn = figure.roofline([A100], [Point("naive", 0.25, marked_tflops=1.37)])
    assert [tuple(point) for point in markers(drawn, "x")] == [pytest.approx((0.25, 1.37))]
    assert "naive: 0.25, measured 1.37 TFLOP/s" in [text for text, _ in words(drawn)]


def test_a_profile_is_a_bar_along_the_roof_from_its_lowest_to_its_highest_intensity():
    drawn = figure.roofline([A100], [], [Span("mine", 0.4, 21.3)])
    (bar,) = [line.get_xydata() for line in drawn.axes[0].lines if line.get_linewidth() == 7]
    assert bar[:, 0].tolist() == pytest.approx([0.4, 9.75, 21.3])
    assert bar[:, 1].tolist() == pytest.approx([0.8, 19.5, 19.5])
    (ends,) = [line.get_xydata() for line in drawn.axes[0].lines if line.get_marker() == "|"]
    assert ends[:, 0].tolist() == pytest.approx([0.4, 21.3])


def test_a_bar_starts_at_the_lower_end_whichever_way_round_the_counts_come():
    assert Span("mine", 3, 2) == Span("mine", 2, 3)
    with pytest.raises(ValueError, match="no place on a roofline"):
        Span("nothing", math.nan, math.nan)


points = st.lists(
    st.builds(Point, st.sampled_from(["a", "naive matmul", "tiled matmul, T = 32"]), st.floats(0, 1000), st.booleans()),
    max_size=5,
)
spans = st.lists(st.builds(Span, st.just("mine"), st.floats(0, 1000), st.floats(0, 1000)), max_size=3)


@settings(max_examples=25, deadline=None)
@given(points, spans)
def test_no_words_ever_run_into_each_other(plot, points, spans):
    plot.draw([A100, Machine("B", 20, 2100), Machine("C", 19, 300), Machine("D", 2000, 4000)], points, spans)
    shown = words(plot.figure)
    assert len(shown) >= len(points) + len(spans) + 8
    for (one, a), (other, b) in combinations(shown, 2):
        if "bound" in one or "bound" in other:
            continue
        assert not (a.x0 < b.x1 - 1 and b.x0 < a.x1 - 1 and a.y0 < b.y1 - 3 and b.y0 < a.y1 - 3), (one, other)


@settings(max_examples=25, deadline=None)
@given(points, spans)
def test_all_words_lie_inside_the_picture(plot, points, spans):
    plot.draw([Machine("L4 FP16", 121, 300)], points, spans)
    for text, box in words(plot.figure):
        assert box.x0 >= 0 and box.x1 <= figure.WIDTH, text
        assert box.y0 >= 0 and box.y1 <= figure.HEIGHT, text


def test_more_names_than_have_room_are_refused():
    crowd = [Point(f"kernel {n}", 1.0) for n in range(figure.ROWS + 1)]
    with pytest.raises(ValueError, match="room for 9 names at one place, and 10 stand there"):
        figure.roofline([A100], crowd)
    with pytest.raises(ValueError, match="5 machines: expected 1 to 4"):
        figure.roofline([A100] * 5)


def test_a_plot_that_refused_a_picture_draws_the_next_one(plot):
    with pytest.raises(ValueError, match="show fewer"):
        plot.draw([A100], [Point("kernel", 1.0)] * 10)
    plot.draw([A100], [SAXPY])
    assert np.array_equal(pixels(plot.image("")), pixels(fresh([A100], [SAXPY])))


def fresh(*args):
    new = figure.RooflinePlot()
    new.draw(*args)
    return new.image("")


def test_drawing_in_layers_gives_the_picture_that_drawing_anew_gives(plot):
    pictures = [
        ([A100], [SAXPY, Point("t", 8, chosen=True)], []),
        ([A100], [SAXPY, Point("t", 9, chosen=True)], []),
        ([A100], [SAXPY, Point("t", 9, chosen=True)], [Span("mine", 1, 2)]),
        ([Machine("H200", 66.9, 4800)], [SAXPY], [Span("mine", 1, 2)]),
    ]
    for picture in pictures:
        plot.draw(*picture)
        assert np.array_equal(pixels(plot.image("")), pixels(fresh(*picture)))


def test_only_the_layers_that_changed_are_drawn_again():
    drawn = []
    plot = LivePlot(200, 100)

    def layer(name, key):
        return Layer(key, lambda add: drawn.append(name))

    plot.draw(layer("low", 1), layer("middle", 1), layer("top", 1))
    plot.draw(layer("low", 1), layer("middle", 1), layer("top", 2))
    plot.draw(layer("low", 1), layer("middle", 2), layer("top", 2))
    assert drawn == ["low", "middle", "top", "top", "middle", "top"]


def test_the_axes_are_the_same_for_every_machine():
    frames = [
        [(a.get_xlim(), a.get_ylim()) for a in figure.roofline([m]).axes] for m in (A100, machine("B200", "fp16"))
    ]
    assert frames[0] == frames[1]


def test_every_roof_of_every_card_lies_in_the_picture():
    from course.cards import CARDS
    from course.models.roofline import ridges

    for key in CARDS:
        for unit in ridges(key):
            on = machine(key, unit)
            assert figure.INTENSITIES[0] < on.ridge < figure.INTENSITIES[1]
            assert figure.TFLOPS[0] < on.peak_tflops < figure.TFLOPS[1]


def test_the_sentence_says_machines_kernels_and_profiles():
    said = figure.sentence([A100], [Point("matmul", 16, chosen=True), SAXPY], [Span("mine", 0.4, 21.3)])
    assert said == (
        "Roofline of A100 (2,000 GB/s, 19.5 TFLOP/s, ridge at 9.75 FLOP/B). matmul: 16 FLOP/B, at most 19.5 TFLOP/s, "
        "compute-bound. mine, profiled: 0.4 to 21.3 FLOP/B, at most 0.8 to 19.5 TFLOP/s. "
        "Also shown, in FLOP/B: saxpy: 0.167."
    )


def test_the_image_has_alt_text_white_paper_and_few_bytes(plot):
    plot.draw([A100, Machine("B", 200, 4800)], [SAXPY], [Span("mine", 1, 200)])
    html = plot.image("words & <more>")
    tag = ElementTree.fromstring(html)
    assert tag.get("alt") == "words & <more>"
    assert tag.get("class") == "plot"  # a dark page turns its colours round
    assert "img.plot{filter:invert" in style.CSS
    assert len(html) < 50_000
    assert pixels(html)[2, 2].tolist() == [255, 255, 255]


def test_the_palette_changes_no_colour_so_much_that_it_could_be_taken_for_another(plot):
    plot.draw([A100, Machine("B", 200, 4800)], [SAXPY, Point("p", 5, chosen=True)], [Span("mine", 1, 200)])
    exact = np.asarray(plot.figure.canvas.buffer_rgba())[..., :3].astype(int)
    off = np.abs(exact - pixels(plot.image(""))).max(axis=2)
    assert np.mean(off > 24) < 0.002
    assert off.max() < 90


def test_a_figure_can_be_saved_for_slides(tmp_path):
    figure.roofline([A100], [SAXPY], [Span("mine", 1, 2)]).savefig(tmp_path / "roofline.svg")
    saved = ElementTree.parse(tmp_path / "roofline.svg").getroot()
    assert (saved.tag, saved.get("width")) == ("{http://www.w3.org/2000/svg}svg", f"{figure.WIDTH * 72 / 96:g}pt")


def test_no_pyplot_state_is_touched():
    import matplotlib.pyplot as plt

    before = plt.get_fignums()
    figure.roofline([A100])
    assert plt.get_fignums() == before


@settings(max_examples=200, deadline=None)
@given(st.lists(st.floats(0, 500), min_size=1, max_size=6))
def test_spread_keeps_the_distance_and_the_order(wanted):
    places = spread(wanted, 40, 0, 500)
    for (a, x), (b, y) in combinations(zip(wanted, places, strict=True), 2):
        assert abs(x - y) >= 40 - 1e-6
        if a != b:
            assert (a < b) == (x < y)
    assert all(-1e-6 <= place <= 500 + 1e-6 for place in places)


def test_a_name_goes_below_those_to_its_right_that_it_would_meet():
    names = [Label(10, 10, "a", width=100), Label(50, 50, "b", width=20), Label(300, 300, "c", width=20)]
    stack(names, 1, (0, 500))
    assert [name.row for name in names] == [2, 1, 1]
