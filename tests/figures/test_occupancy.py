"""The picture of occupancy, held to blocks that these tests place on an SM one by one."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course.cards import LIMITS
from course.figures import occupancy as figure
from course.models import occupancy as model
from tests.support.placed_blocks import placed


@pytest.fixture(scope="module")
def plot():
    """One plot that is drawn again and again, as in the explorer."""
    return figure.OccupancyPlot()


def curves(capability, threads, registers, shared):
    now = {"threads_per_block": threads, "registers_per_thread": registers, "shared_bytes_per_block": shared}
    swept = {over: model.sweep(capability, over, **now) for over in now}
    return [figure.Curve(over, values, found.occupancy, now[over]) for over, (values, found) in swept.items()]


def drawn(plot, capability="8.0", threads=256, registers=40, shared=2176, **more):
    plot.draw(
        model.occupancy(capability, threads, registers, shared), curves(capability, threads, registers, shared), **more
    )
    return plot.figure


def rows(axes):
    """The words and the bars of the upper part, from top to bottom."""
    texts = sorted(axes.texts, key=lambda text: text.get_position()[1])
    return texts, sorted(axes.patches, key=lambda bar: bar.get_y())


configurations = st.tuples(
    st.sampled_from(sorted(LIMITS)),
    st.integers(1, 1024),
    st.integers(1, 255),
    st.sampled_from([0, 1000, 2176, 9000, 49152]),
)


@settings(max_examples=20, deadline=None)
@given(configurations)
def test_every_bar_is_as_long_as_the_blocks_that_can_be_placed_under_its_limit(plot, configuration):
    texts, bars = rows(drawn(plot, *configuration).axes[0])
    counted = [blocks for blocks in placed(*configuration).values() if blocks is not None]
    assert [bar.get_width() for bar in bars] == [min(blocks, figure.BLOCKS) for blocks in counted]
    written = [text.get_text().split()[0] for text in texts if text.get_position()[0] >= 0]
    assert [int(number) for number in written if number.isdigit()] == counted


@settings(max_examples=20, deadline=None)
@given(configurations)
def test_exactly_the_limits_that_bind_are_marked_by_word_hatch_and_weight(plot, configuration):
    texts, bars = rows(drawn(plot, *configuration).axes[0])
    true = placed(*configuration)
    least = min(blocks for blocks in true.values() if blocks is not None)
    binding = [figure.NAMES[name] for name, blocks in true.items() if blocks == least]
    names = [text for text in texts if text.get_text() in figure.NAMES.values()]
    assert [text.get_text() for text in names] == list(figure.NAMES.values())
    assert [text.get_text() for text in names if text.get_weight() == "bold"] == binding
    assert sum("binds" in text.get_text() for text in texts) == len(binding)
    assert sum(bool(bar.get_hatch()) for bar in bars) == len(binding)


def test_a_line_crosses_all_bars_at_the_resident_blocks(plot):
    (line,) = drawn(plot).axes[0].lines
    assert line.get_xydata().tolist() == [[6, 0], [6, 5]]


def test_nothing_crosses_the_bars_when_no_block_fits(plot):
    axes = drawn(plot, "8.0", 512, 255, 0).axes[0]
    assert list(axes.lines) == []
    assert "0  ◀ binds" in [text.get_text() for text in axes.texts]


def test_the_predicted_blocks_are_marked(plot):
    axes = drawn(plot, said=8).axes[0]
    assert [8, 0] in [line.get_xydata()[0].tolist() for line in axes.lines]
    assert "you said 8" in [text.get_text() for text in axes.texts]
    assert "you said 99 →" in [text.get_text() for text in drawn(plot, said=99).axes[0].texts]


@settings(max_examples=12, deadline=None)
@given(configurations)
def test_the_present_setting_is_the_point_on_each_curve(plot, configuration):
    capability, *now = configuration
    least = min(blocks for blocks in placed(*configuration).values() if blocks is not None)
    share = 100 * least * -(-now[0] // 32) / LIMITS[capability].warps_per_sm
    for axes, at in zip(drawn(plot, *configuration).axes[1:], now, strict=True):
        (point,) = [line.get_xydata()[0] for line in axes.lines if line.get_marker() == "o"]
        assert point.tolist() == pytest.approx([at, share])


def test_a_curve_has_the_occupancy_of_blocks_placed_one_by_one(plot):
    threads, registers, shared = drawn(plot, "8.0", 256, 40, 2176).axes[1:]
    for axes, over in ((threads, 0), (registers, 1), (shared, 2)):
        curve = max((line.get_xydata() for line in axes.lines), key=len)
        for value, percent in curve[:: max(1, len(curve) // 12)]:
            setting = [256, 40, 2176]
            setting[over] = int(value)
            least = min(blocks for blocks in placed("8.0", *setting).values() if blocks is not None)
            assert percent == pytest.approx(100 * least * -(-setting[0] // 32) / 64)


@settings(max_examples=12, deadline=None)
@given(configurations, st.sampled_from([None, 7, 40]))
def test_no_words_ever_run_into_each_other_or_out_of_the_picture(plot, configuration, said):
    figure_ = drawn(plot, *configuration, said=said)
    renderer = figure_.canvas.get_renderer()
    boxes = [(t.get_text(), t.get_window_extent(renderer)) for axes in figure_.axes for t in axes.texts]
    for text, box in boxes:
        assert box.x0 >= 0 and box.x1 <= figure.WIDTH and box.y0 >= 0 and box.y1 <= figure.HEIGHT, text
    for (one, a), (other, b) in combinations(boxes, 2):
        if "said" in one or "said" in other:  # has a box of its own, in the last row
            continue
        assert not (a.x0 < b.x1 - 1 and b.x0 < a.x1 - 1 and a.y0 < b.y1 - 3 and b.y0 < a.y1 - 3), (one, other)


def test_the_axes_are_the_same_for_every_card(plot):
    frames = [[(axes.get_xlim(), axes.get_ylim()) for axes in drawn(plot, c, 64, 32, 0).axes] for c in LIMITS]
    assert all(frame == frames[0] for frame in frames)


def test_drawing_in_layers_gives_the_picture_that_drawing_anew_gives(plot):
    for configuration in (("8.0", 256, 40, 2176), ("8.0", 256, 41, 2176), ("9.0", 256, 72, 2176), ("7.5", 32, 32, 0)):
        drawn(plot, *configuration)
        new = figure.OccupancyPlot()
        drawn(new, *configuration)
        assert plot.image("x") == new.image("x")
    assert len(plot.image("x")) < 45_000


def test_the_sentence_has_the_worked_budget():
    assert figure.sentence(model.occupancy("8.0", 256, 40, 2176)) == (
        "6 blocks on an SM at a time, 48 warps in 64 slots: occupancy 75\xa0%, limited by registers. Blocks by limit: "
        "warp slots 8, registers 6, shared memory 52, block slots 32, barriers no limit."
    )


def test_the_sentence_says_what_keeps_a_block_from_being_launched():
    said = figure.sentence(model.occupancy("8.0", 512, 255))
    assert said.startswith("This block cannot be launched: it takes more registers than a block can have.")


def test_numbers_carry_their_values():
    values = {one.name: (one.value, one.words) for one in figure.quantities(model.occupancy("8.0", 256, 72, 2176))}
    assert values["blocks"] == (3, "3")
    assert values["occupancy"] == (0.375, "37.5\xa0%")
    assert values["warps"] == (24, "24 of 64")
    assert values["registers"] == (18432, "18\xa0432")
    assert values["limiters"] == (1, "registers")


def test_a_figure_needs_no_curves():
    drawn = figure.occupancy(model.occupancy("9.0", 128, 32, 0))
    assert [len(axes.lines) for axes in drawn.axes[1:]] == [0, 0, 0]
    assert np.isfinite(drawn.axes[0].get_xlim()).all()
