"""A plot that changes with every key press: drawn in layers, and only those that changed are drawn again.

A matplotlib figure of this size takes a tenth of a second to draw, nearly all of it for ticks, grid and words. The
explorers keep their frames and axes fixed, so each layer is kept as a bitmap under the next one.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple, cast

import numpy as np

from course.figures.style import FIGURE_STYLE, LIGHT, OKABE_ITO
from course.figures.svg import element

__all__ = ["Add", "Layer", "LivePlot"]

Add = Callable[[Any], Any]
"""Takes a new artist, or a list of them, and returns it."""


class Layer(NamedTuple):
    """Part of a picture: drawn again when its key, or a layer below it, has changed."""

    key: object
    draw: Callable[[Add], None]


class LivePlot:
    """A matplotlib Figure with a fixed frame, and layers on top of it.

    The Figure is complete at any time, so `figure.savefig` works too. It belongs to no pyplot state.
    """

    def __init__(self, width: int, height: int) -> None:
        """`width` and `height`: size on the page, in CSS pixels."""
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        with self.style():
            self.figure: Any = Figure(figsize=(width / 96, height / 96), dpi=96)
        self._canvas = FigureCanvasAgg(self.figure)
        self._frame: Any = None
        self._layers: list[Layer] = []
        self._artists: list[list[Any]] = []
        self._bitmaps: list[Any] = []

    @staticmethod
    def style() -> Any:
        """The course's matplotlib settings, for a ``with`` around everything that makes artists."""
        import matplotlib

        return matplotlib.rc_context(cast(Any, FIGURE_STYLE))

    @property
    def renderer(self) -> Any:
        """What measures words: ``text.get_window_extent(plot.renderer)``, in CSS pixels."""
        return self._canvas.get_renderer()

    def draw(self, *layers: Layer) -> None:
        """Show these layers, the first one lowest."""
        same = 0
        while same < min(len(layers), len(self._layers)) and layers[same].key == self._layers[same].key:
            same += 1
        for artists in self._artists[same:]:
            for artist in artists:
                artist.remove()
        del self._layers[same:], self._artists[same:], self._bitmaps[same:]
        with self.style():
            self._canvas.restore_region(self._bitmaps[-1] if self._bitmaps else self._frame_bitmap())
            for layer in layers[same:]:
                self._add(layer)

    def _frame_bitmap(self) -> Any:
        """What never changes, drawn before the first layer."""
        if self._frame is None:
            self._canvas.draw()
            self._frame = self._canvas.copy_from_bbox(self.figure.bbox)
        return self._frame

    def _add(self, layer: Layer) -> None:
        made: list[Any] = []

        def add(new: Any) -> Any:
            made.extend(new if isinstance(new, (list, tuple)) else [new])
            return new

        self._artists.append(made)
        layer.draw(add)
        for artist in sorted(made, key=lambda one: one.get_zorder()):
            artist.draw(self.renderer)
        self._layers.append(layer)
        self._bitmaps.append(self._canvas.copy_from_bbox(self.figure.bbox))

    def image(self, alt: str) -> str:
        """The plot as ``<img alt>``, with the class that dark pages turn dark."""
        from PIL import Image

        size = self._canvas.get_width_height()
        drawn = Image.frombuffer("RGBA", size, bytes(self._canvas.buffer_rgba()), "raw", "RGBA", 0, 1).convert("RGB")
        png = io.BytesIO()
        # Few colours are in use: with a palette the picture, and so the notebook, is three times smaller.
        drawn.quantize(palette=_palette(), dither=Image.Dither.NONE).save(png, format="png", compress_level=3)
        source = "data:image/png;base64," + base64.b64encode(png.getvalue()).decode()
        return element("img", src=source, alt=alt, width=size[0], class_="plot")


@cache
def _palette() -> Any:
    """A PIL image with the colours of the course and the steps in which their edges fade into paper or ink."""
    from PIL import Image

    named = [LIGHT.paper, LIGHT.ink, LIGHT.used_tint, LIGHT.dead_tint, LIGHT.panel, LIGHT.rule, LIGHT.quiet]
    colours = np.array([_rgb(colour) for colour in (*named, *OKABE_ITO.values())])
    fades = [colours]
    for end in (LIGHT.paper, LIGHT.ink, LIGHT.used_tint):
        fades += [colours + (_rgb(end) - colours) * step for step in np.linspace(0, 1, 9)[1:-1]]
    palette: list[Any] = []
    for colour in np.concatenate(fades).round():
        # Pillow tells colours apart in steps of 8: with two nearer ones in the palette, paper could turn grey.
        if len(palette) < 256 and all(np.abs(colour - one).max() > 8 for one in palette):
            palette.append(colour)
    image = Image.new("P", (1, 1))
    image.putpalette(np.array(palette, np.uint8).tobytes())
    return image


def _rgb(colour: str) -> Any:
    """Red, green and blue of #rrggbb, shape (3,)."""
    return np.array([int(colour[n : n + 2], 16) for n in (1, 3, 5)])
