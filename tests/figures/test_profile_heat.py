"""The heat of a profile: the bars of each line, held to counts made from the addresses in these tests."""

from __future__ import annotations

import io
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image

from course import cuda, explore
from course.figures.profile_heat import heat, heat_rows, heat_sentence
from course.profiling.profile import profile

SIDE, TILE = 64, 32


@cuda.jit
def transpose(a, out):
    tile = cuda.shared.array((32, 32), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x, y = cuda.grid(2)
    tile[ty, tx] = a[y, x]
    cuda.syncthreads()
    out[x, y] = tile[tx, ty]


@pytest.fixture(scope="module")
def taken():
    a = np.ones((SIDE, SIDE), np.float32)
    return profile(transpose, (SIDE // TILE, SIDE // TILE), (TILE, TILE), a, np.zeros_like(a))


def line(rows, text):
    (row,) = [row for row in rows if row.text.strip() == text]
    return row


def test_sectors_are_split_into_those_the_bytes_need_and_those_the_addresses_add(taken):
    warps = SIDE * SIDE // 32
    rows = heat_rows(taken)
    load, store = line(rows, "tile[ty, tx] = a[y, x]"), line(rows, "out[x, y] = tile[tx, ty]")
    assert (load.cost, load.least, load.accesses) == (4 * warps, 4 * warps, warps)
    # A column: each of 32 lanes writes in a row of its own, so in a sector of its own.
    assert (store.cost, store.least, store.accesses) == (32 * warps, 4 * warps, warps)
    assert all(row.cost == 0 for row in rows if row.number not in (load.number, store.number))


def test_wavefronts_are_split_into_needed_ones_and_bank_conflicts(taken):
    warps = SIDE * SIDE // 32
    rows = heat_rows(taken, "wavefronts")
    store, load = line(rows, "tile[ty, tx] = a[y, x]"), line(rows, "out[x, y] = tile[tx, ty]")
    assert (store.cost, store.least) == (warps, warps)
    assert (load.cost, load.least) == (32 * warps, warps)  # a column of 32 x 32 words lies in one bank


@pytest.mark.parametrize("by", ["sectors", "wavefronts"])
def test_the_bars_are_as_long_as_the_counts(taken, by):
    (axes,) = heat(taken, by).axes
    rows = {n: row for n, row in enumerate(heat_rows(taken, by)) if row.accesses}
    for n, row in rows.items():
        on_row = [bar for bars in axes.containers for bar in bars if round(bar.get_y() + bar.get_height() / 2) == n]
        widths = sorted(bar.get_width() for bar in on_row)
        extra = row.cost - row.least
        assert widths == sorted([row.least, row.cost] + ([extra] if extra else []))  # the outline is a bar too
        assert any(text.get_text().startswith(f"{row.cost:,} (") for text in axes.texts)
    assert sum(len(bars) for bars in axes.containers) == sum(2 + (row.cost > row.least) for row in rows.values())


def test_what_is_added_is_hatched_too(taken):
    (axes,) = heat(taken).axes
    hatched = [bar for bars in axes.containers for bar in bars if bar.get_hatch()]
    assert [bar.get_width() for bar in hatched] == [28 * SIDE * SIDE // 32]


def test_the_figure_can_be_saved_for_a_slide_and_is_as_high_as_the_kernel_is_long(taken):
    file = io.BytesIO()
    figure = heat(taken)
    figure.savefig(file, format="png", dpi=96)
    width, height = Image.open(file).size
    assert width == 800
    assert height == pytest.approx(86 + 21 * len(taken.lines), abs=1)


def test_the_sentence_names_the_line_that_costs_most(taken):
    row = line(heat_rows(taken), "out[x, y] = tile[tx, ty]")
    words = heat_sentence(taken)
    assert f"Line {row.number} costs most: {row.cost:,}, or 32 for each request." in words
    assert f"{36 * SIDE * SIDE // 32:,} in all, {28 * SIDE * SIDE // 32:,} of them more" in words


def test_a_kernel_without_such_accesses_is_said_to_cost_nothing():
    @cuda.jit
    def fill(out):
        out[cuda.grid(1)] = 1

    taken = profile(fill, 1, 32, np.zeros(32, np.float32))
    assert "none reaches shared memory" in heat_sentence(taken, "wavefronts")
    assert not heat(taken, "wavefronts").axes[0].containers


def test_another_measure_is_refused(taken):
    with pytest.raises(ValueError, match="expected one of sectors, wavefronts"):
        heat(taken, "seconds")


def test_in_a_notebook_the_picture_is_an_image_with_its_sentence(taken, monkeypatch):
    from course.explorers import _heat as module

    sent = []
    monkeypatch.setattr(module, "show_html", sent.append)
    explore.heat(taken)
    (image,) = ElementTree.fromstring(sent[0]).iter("img")
    assert image.get("alt") == heat_sentence(taken)
    assert len(sent[0]) < 100_000


def test_a_still_is_dark_where_the_page_is(monkeypatch):
    from course.explorers import display

    shown = []
    monkeypatch.setattr(display, "display", shown.append)
    display.show_html("<p>words</p>")
    assert shown[0].data.startswith('<div class="gmc"><style>') and "data-jp-theme-light='false'" in shown[0].data
