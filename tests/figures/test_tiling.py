"""The pictures of tile staging and of the sweep over tile sizes."""

from __future__ import annotations

import base64
from xml.etree import ElementTree

import numpy as np
import pytest

from course.figures import tiling as figure
from course.figures.tile_sweep import TileSweepPlot, sweep_sentence, tile_sweep
from course.models import tiling as model
from course.models.occupancy import occupancy

SVG = "{http://www.w3.org/2000/svg}"


def sm(product):
    return occupancy("8.0", product.tile**2, 32, product.shared_bytes)


def drawn(tile, step=0, pad=0, size=64):
    product = model.matmul(size, tile, pad)
    return ElementTree.fromstring(figure.staging_svg(product, sm(product), step))


def place(rect):
    return tuple(float(rect.get(name)) for name in ("x", "y", "width", "height"))


def of_matrix(tree, name):
    (rect,) = (r for r in tree.iter(f"{SVG}rect") if r.get("data-matrix") == name)
    return rect


@pytest.mark.parametrize("tile", [2, 4, 8, 16, 32])
def test_the_staged_tiles_meet_in_the_sum_over_k(tile):
    steps = 64 // tile
    for step in (0, steps // 2, steps - 1):
        tree = drawn(tile, step)
        a, b, c = (of_matrix(tree, name) for name in "ABC")
        assert int(a.get("data-column")) == int(b.get("data-row")) == step * tile
        assert place(a)[1] == place(c)[1]  # the same rows of A and C
        assert place(b)[0] - 186 == pytest.approx(place(c)[0] - 372, abs=0.01)  # the same columns of B and C
        for rect in (a, b, c):
            assert place(rect)[2:] == pytest.approx((166 * tile / 64,) * 2, abs=0.01)


def test_a_step_that_no_product_has_is_refused():
    with pytest.raises(ValueError, match="expected 0 to 3, since 4 tiles"):
        drawn(16, 4)


def test_the_pad_is_hatched():
    def hatches(tree):
        return [p for p in tree.iter(f"{SVG}path") if p.get("class") == "hatch thin"]

    assert (len(hatches(drawn(16))), len(hatches(drawn(16, pad=1)))) == (0, 2)


@pytest.mark.parametrize(("tile", "pad"), [(2, 0), (12, 3), (32, 8)])
def test_everything_stays_inside_a_frame_that_never_changes(tile, pad):
    tree = drawn(tile, 0, pad, 60 if tile == 12 else 64)
    assert tree.get("viewBox") == f"0 0 {figure.WIDTH} {figure.HEIGHT}"
    for rect in tree.iter(f"{SVG}rect"):
        x, y, width, height = place(rect)
        assert x >= 0 and x + width <= figure.WIDTH
        assert y + height <= figure.HEIGHT
    words = {float(t.get("y")) for t in tree.iter(f"{SVG}text")}
    assert max(words) <= figure.HEIGHT


def test_the_sentence_has_the_numbers_and_says_when_a_block_does_not_fit():
    product = model.matmul(64, 16, 1)
    assert figure.sentence(product, sm(product)) == (
        "Tiles of 16 x 16: each staged element serves 16 threads, which makes 4 FLOP per staged byte. A block takes "
        "2176\xa0B of shared memory, and an SM holds 8 blocks, occupancy 100\xa0%. Wavefronts: 2 a shared store, 1 a "
        "shared load."
    )
    none = occupancy("8.0", 1024, 128, 8192)
    assert "an SM cannot hold such a block" in figure.sentence(model.matmul(64, 32), none)


def test_the_picture_that_stands_alone_is_an_svg_image_with_alt_text():
    product = model.matmul(64, 8)
    image = ElementTree.fromstring(figure.staging_image(product, sm(product), 1))
    assert image.get("alt") == figure.sentence(product, sm(product))
    assert base64.b64decode(image.get("src").partition("base64,")[2]).startswith(b"<svg")


def sweep(**kwargs):
    return model.tile_sweep("8.0", np.arange(2, 33), **kwargs)


def test_the_sweep_plots_the_chapter_s_formulas():
    intensity, shared, blocks, _ = (axes.lines[0].get_ydata() for axes in tile_sweep(sweep(), 16).axes)
    tiles = np.arange(2, 33)
    assert intensity == pytest.approx(tiles / 4)
    assert shared == pytest.approx(2 * 4 * tiles**2 / 1024)
    assert [blocks[tile - 2] for tile in (8, 16, 32)] == [32, 8, 2]


def test_the_marked_tile_is_where_its_values_are():
    for axes in tile_sweep(sweep(), 24).axes:
        curve, marks = axes.lines[0], axes.lines[1:]
        value = curve.get_ydata()[22]
        assert [24] in [list(line.get_xdata()) for line in marks]
        assert [pytest.approx(value)] in [list(line.get_ydata()) for line in marks]


def test_the_sweep_has_the_same_axes_whatever_the_values():
    one, other = tile_sweep(sweep(), 2), tile_sweep(sweep(pad=8, registers_per_thread=255, element_bytes=8), 32)
    assert [(a.get_xlim(), a.get_ylim()) for a in one.axes] == [(a.get_xlim(), a.get_ylim()) for a in other.axes]
    for axes in other.axes:
        assert axes.lines[0].get_ydata().max() <= axes.get_ylim()[1]


def test_the_sweep_says_its_numbers_in_one_sentence():
    assert sweep_sentence(sweep(), 16) == (
        "Four curves over tile sizes 2 to 32: a tile of 16 has 4 FLOP per staged byte, 2048 B of shared memory a "
        "block, 8 blocks per SM and an occupancy of 100 %; the highest occupancy, 100 %, comes first with a tile of 6."
    )


def test_a_plot_drawn_twice_is_the_plot_drawn_once():
    once, twice = TileSweepPlot(), TileSweepPlot()
    once.draw(sweep(), 8)
    twice.draw(sweep(pad=4), 32)
    twice.draw(sweep(), 8)
    assert once.image("x") == twice.image("x")
    assert len(once.image("x")) < 40_000
