"""The second explorer of chapter `tiling`: tile size -> what is staged, reuse, shared memory, blocks per SM."""

from __future__ import annotations

from typing import Any

from course.explorers.controls import Choice, Control, Dropdown, Number
from course.explorers.display import show
from course.explorers.explorer import Drawing, Explorer, start, still
from course.explorers.profile_button import Comparison
from course.explorers.tile_profile import compare
from course.explorers.tile_settings import LARGEST, NVIDIA, PRESETS, SMALLEST, TYPES, Tiling
from course.figures import tiling as figure
from course.figures.svg import clean, element
from course.figures.tile_sweep import TileSweepPlot, sweep_sentence

__all__ = ["TilingExplorer", "tiling"]


def tiling(preset: str = "T = 16") -> None:
    """Play with the tile size of a matrix product: what a block stages, how often it is used, what fits on an SM.

    preset: the setting to start from, by its name in the explorer ("T = 32", "T = 16, pad 1", ...).
    """
    explorer = TilingExplorer(start(PRESETS, preset))
    show(_still(explorer.settings), explorer.parts)


class TilingExplorer(Explorer[Tiling]):
    """Tile and card on top; the staged tiles, the counts and the sweep over all tile sizes below."""

    def __init__(self, start: Tiling) -> None:
        self._sweep = TileSweepPlot()
        self.tile = Number("Tile size T", start.tile, SMALLEST, LARGEST)
        self.step = Number("Step", start.step, 1, start.steps)
        self.tile.source.observe(self._on_tile, names="value")
        cards = [(card.name, key) for key, card in NVIDIA.items()]
        sizes = [(f"{name} ({size} B)", size) for size, name in TYPES.items()]
        controls: dict[str, Control] = {
            "tile": self.tile,
            "step": self.step,
            "pad": Number("Pad", start.pad, 0, 8),
            "element_bytes": Choice("Element", sizes, start.element_bytes),
            "card": Dropdown("Card", cards, start.card),
            "registers": Number("Registers", start.registers, 16, 255),
        }
        super().__init__(PRESETS, start, controls, [["tile", "step", "pad"], ["element_bytes", "card", "registers"]])

    def _on_tile(self, change: Any) -> None:
        """Larger tiles make fewer steps. The tile itself reports the change."""
        with self.panel.quietly():
            self.step.limit(Tiling(tile=change.new).steps)

    def draw(self, settings: Tiling) -> Drawing:
        """The tiles of one step, the counts, and the sweep."""
        product, sm = settings.product, settings.sm
        self._sweep.draw(settings.sweep, settings.tile)
        picture = (
            figure.staging_svg(product, sm, settings.step - 1)
            + figure.numbers(product, sm)
            + self._sweep.image(sweep_sentence(settings.sweep, settings.tile))
        )
        return Drawing(picture, figure.sentence(product, sm), _notes(settings))

    def compare(self, settings: Tiling) -> Comparison:
        """Run the product as a kernel."""
        return compare(settings)


def _still(setting: Tiling) -> str:
    product, sm, sweep = setting.product, setting.sm, TileSweepPlot()
    sweep.draw(setting.sweep, setting.tile)
    pictures = figure.staging_image(product, sm, setting.step - 1) + sweep.image(
        sweep_sentence(setting.sweep, setting.tile)
    )
    return still(pictures, clean(figure.sentence(product, sm)))


def _notes(setting: Tiling) -> str:
    tile, side = setting.tile, f"{setting.tile} + {setting.pad}" if setting.pad else f"{setting.tile}"
    shared = f"a_tile = cuda.shared.array(({tile}, {side}), {TYPES[setting.element_bytes]})"
    stage = f"a_tile[y, x] = a[row, {setting.step - 1} * {tile} + x]"
    limiters = " and ".join(setting.sm.limiters)
    words = f"What limits the blocks on an SM of this card: {limiters}."
    small = (
        "FLOP per staged byte counts what the block asks global memory for; caches may hold some of it, so the "
        "intensity at DRAM can be higher. The pictures leave out time, registers that hold several outputs, and "
        "merged shared loads."
    )
    code = element("code", clean(shared)) + " " + element("code", clean(stage))
    return element("p", "In a kernel: " + code) + element("p", clean(words)) + element("p", small, class_="small quiet")
