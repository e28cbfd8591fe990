"""The tile-size explorer without a browser: set a control, read the page back, compare with plain counts."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course import explore
from course.explorers._tiling import TilingExplorer
from course.explorers.tile_settings import NVIDIA, PRESETS, Tiling
from tests.explorers.reading import controls_of, displayed, numbers, parsed, statuses, widget_shown, with_data

__all__ = ["displayed"]


def counted(tile, pad, size):
    """Sectors a request and wavefronts a store of the staging, thread by thread; all blocks of two matrices."""
    side = 64 // tile * tile
    sectors = requests = 0
    for down in range(0, side, tile):
        for right in range(0, side, tile):
            for warp in warps(tile):
                requests += 1
                sectors += len({((down + y) * side + right + x) * size // 32 for x, y in warp})
    groups = max(1, size // 4)
    passes = 0
    for warp in warps(tile):
        for n in range(groups):
            part = warp[n * 32 // groups : (n + 1) * 32 // groups]
            words = {((y * (tile + pad) + x) * size + b) // 4 for x, y in part for b in range(size)}
            passes += max((sum(w % 32 == bank for w in words) for bank in range(32)), default=0)
    return sectors / requests, passes / len(warps(tile))


def warps(tile):
    threads = [(n % tile, n // tile) for n in range(tile * tile)]
    return [threads[n : n + 32] for n in range(0, len(threads), 32)]


# FLOP per staged byte, blocks per SM, occupancy, wavefronts a store: worked out on paper
BY_HAND = {
    "T = 16": (4, 8, 1, 1),
    "T = 8": (2, 32, 1, 1),
    "T = 32": (8, 2, 1, 1),
    "T = 32 with 40 registers": (8, 1, 0.5, 1),
    "T = 32 on a T4": (8, 1, 1, 1),
    "T = 16, pad 1": (4, 8, 1, 2),
    "T = 32, pad 1": (8, 2, 1, 1),
    "T = 16, float64": (2, 8, 1, 2),
    "T = 12": (3, 12, 60 / 64, 1),
}


def test_every_preset_has_a_test():
    assert set(PRESETS) == set(BY_HAND)


@pytest.mark.parametrize("name", BY_HAND)
def test_a_preset_shows_its_counts(name):
    explorer = TilingExplorer(Tiling())
    explorer.presets.value = name
    found = numbers(explorer.picture.value)
    assert tuple(found[n] for n in ("intensity", "blocks", "occupancy", "stores")) == BY_HAND[name]
    assert PRESETS[name].about in "".join(parsed(explorer.notes.value).itertext())


@pytest.mark.parametrize("name", PRESETS)
def test_the_profile_of_a_preset_agrees_with_the_model(name):
    explorer = TilingExplorer(PRESETS[name].settings)
    explorer.profile.button.click()
    assert explorer.profile.comparison is not None, statuses(explorer.profile.answer.value)
    assert explorer.profile.comparison.agrees, explorer.profile.comparison.rows
    assert not explorer.profile.comparison.profile.findings


def test_the_profile_agrees_where_the_second_tile_needs_a_gap():
    explorer = TilingExplorer(Tiling(tile=5))
    explorer.profile.button.click()
    assert explorer.profile.comparison.agrees
    assert "a gap of 12 B" in explorer.profile.comparison.note


@pytest.fixture(scope="module")
def explorer():
    return TilingExplorer(Tiling())


@settings(max_examples=25, deadline=None)
@given(
    st.builds(
        Tiling,
        tile=st.integers(2, 32),
        pad=st.integers(0, 8),
        element_bytes=st.sampled_from((4, 8)),
        card=st.sampled_from(list(NVIDIA)),
        registers=st.integers(16, 255),
    )
)
def test_any_setting_shows_the_counts_of_its_threads(explorer, setting):
    explorer.set(setting)
    assert explorer.settings == setting
    found = numbers(explorer.picture.value)
    tile, size = setting.tile, setting.element_bytes
    assert found["intensity"] == pytest.approx(2 * tile**3 / (2 * tile * tile * size))
    assert found["threads"] == tile * tile
    assert found["shared"] == 2 * tile * (tile + setting.pad) * size
    sectors, stores = counted(tile, setting.pad, size)
    assert found["sectors"] == pytest.approx(sectors)
    assert found["stores"] == pytest.approx(stores)
    (plot,) = (image for image in parsed(explorer.picture.value).iter("img"))
    assert f"a tile of {tile} has {found['intensity']:.4g} FLOP" in plot.get("alt")
    assert f"{found['blocks']:.0f} blocks per SM" in plot.get("alt")


def test_the_step_moves_the_tiles_and_ends_with_the_last_one():
    explorer = TilingExplorer(Tiling(tile=8))
    explorer.step.value = 8
    tiles = {box.get("data-matrix"): box for box in with_data(explorer.picture.value, "matrix")}
    assert (tiles["A"].get("data-column"), tiles["B"].get("data-row")) == ("56", "56")
    explorer.tile.value = 32
    assert (explorer.step.value, explorer.step.source.max, explorer.step.slider.max) == (2, 2, 2)
    explorer.tile.value = 4
    assert (explorer.step.value, explorer.step.source.max) == (2, 16)


def test_one_change_draws_once():
    explorer = TilingExplorer(Tiling(tile=8, step=8))
    drawn = []
    explorer.picture.observe(lambda change: drawn.append(change.new), names="value")
    explorer.tile.value = 32
    assert len(drawn) == 1
    explorer.set(Tiling(tile=4, step=9, pad=2, card="t4"))
    assert len(drawn) == 2


def test_reset_returns_to_where_the_explorer_started():
    explorer = TilingExplorer(PRESETS["T = 32"].settings)
    before = explorer.picture.value
    explorer.presets.value = "T = 12"
    explorer.reset.click()
    assert explorer.picture.value == before and explorer.presets.value == "T = 32"


def test_what_limits_the_blocks_is_said():
    explorer = TilingExplorer(PRESETS["T = 32 with 40 registers"].settings)
    assert "on an SM of this card: registers." in "".join(parsed(explorer.notes.value).itertext())


def test_the_live_sentence_is_the_alt_text_of_the_picture():
    explorer = TilingExplorer(Tiling())
    (image,) = (part for part in parsed(explorer.picture.value).iter() if part.get("role") == "img")
    assert statuses(explorer.status.value) == [image.get("aria-label")]


def test_every_control_has_a_name():
    assert all(control.description for control in controls_of(TilingExplorer(Tiling())))


def test_a_wrong_preset_is_refused_with_the_right_ones():
    with pytest.raises(ValueError, match="there are: T = 16, T = 8"):
        explore.tiling("16")


def test_the_still_pictures_come_first_and_then_the_widget(displayed):
    explore.tiling("T = 8")
    still, live = displayed
    staging, sweep = parsed(still).iter("img")
    assert staging.get("src").startswith("data:image/svg+xml;base64,")
    assert sweep.get("src").startswith("data:image/png;base64,")
    assert "2 FLOP per staged byte" in "".join(next(parsed(still).iter("figcaption")).itertext())
    assert len(still) + len(widget_shown(live).children[2].value) < 90_000
