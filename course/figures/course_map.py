"""The map of the course: six chapters, what each answers, and the question that leads to the next."""

from __future__ import annotations

from course.figures.parts import frame, picture
from course.figures.svg import element, text
from course.terms import CHAPTERS

__all__ = ["map_image", "map_sentence", "map_svg"]

WIDTH = 800
_ROW, _BOX = 66, 34
HEIGHT = _ROW * len(CHAPTERS) - (_ROW - _BOX) + 32
_NAME_WIDTH = 130


def map_sentence() -> str:
    """The map in words: alt text."""
    steps = " ".join(f"{n}. {c.name}: {c.answers}. Left open: {c.leaves}" for n, c in enumerate(CHAPTERS, start=1))
    return f"The chapters in order. {steps}."


def map_image() -> str:
    """The map as ``<img alt>``."""
    return picture(map_svg(alone=True), map_sentence(), WIDTH)


def map_svg(*, alone: bool = False) -> str:
    """The map as an SVG; `alone`: with its own style, else it takes the page's."""
    body: list[str] = []
    for row, one in enumerate(CHAPTERS):
        y = row * _ROW + 2
        body += [
            element("rect", x=1, y=y, width=WIDTH - 2, height=_BOX, rx=3, class_="box"),
            text(16, y + 22, f"{row + 1}  {one.name}", class_="tier"),
            text(16 + _NAME_WIDTH, y + 22, one.answers),
            text(16 + _NAME_WIDTH, y + _BOX + 20, one.leaves, class_="quiet"),
        ]
        if row < len(CHAPTERS) - 1:
            down = f"M28 {y + _BOX + 3}v{_ROW - _BOX - 7}m-4 -7l4 7l4 -7"
            body.append(element("path", d=down, class_="arrow"))
    return frame(body, WIDTH, HEIGHT, map_sentence(), alone=alone)
