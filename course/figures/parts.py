"""What pictures share besides their style: the frame, the names of rows, the numbers beside them, words for numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from course.figures.style import LIGHT_CSS
from course.figures.svg import clean, data_uri, element, text

__all__ = ["Quantity", "count", "frame", "in_bytes", "number_list", "percent", "picture", "table", "tier"]


class Quantity(NamedTuple):
    """One number beside a picture."""

    name: str
    """What a test (or a script) finds it by."""
    label: str
    value: float
    words: str
    """The value as a reader sees it."""
    key: bool = False
    """Whether it is one of the numbers that the picture is about."""


def number_list(quantities: Iterable[Quantity]) -> str:
    """Numbers as an HTML list of terms; each carries its raw value in data-value."""
    tiles = [
        element(
            "div",
            element("dt", clean(one.label))
            + element("dd", clean(one.words), data_name=one.name, data_value=f"{one.value:.17g}"),
            class_="key" if one.key else None,
        )
        for one in quantities
    ]
    # More than a row holds: two rows of four look better than six and two.
    return element("dl", "".join(tiles), class_="numbers fours" if len(tiles) == 8 else "numbers")


def frame(body: Iterable[str], width: int, height: int, alt: str, *, alone: bool = False) -> str:
    """An SVG of fixed size with its alt text.

    alone: carries its own style and paper, always light; otherwise it takes both from the page.
    """
    own = [element("style", LIGHT_CSS), element("rect", width=width, height=height, fill="var(--paper)")]
    return element(
        "svg",
        "".join([*own, *body] if alone else body),
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {width} {height}",
        width=width,
        height=height,
        class_="gmc" if alone else None,
        role="img",
        aria_label=alt,
    )


def picture(svg: str, alt: str, width: int) -> str:
    """An SVG that stands alone as ``<img alt>``: it survives viewers that remove inline SVG."""
    return element("img", src=data_uri(svg), alt=alt, width=width, class_="plot")


def tier(y: float, name: str, size: str, *, x: float = 0) -> str:
    """The name of a row of boxes, and the size of one box."""
    return text(x, y + 8, name, class_="tier") + text(x, y + 23, size, class_="quiet")


def table(heads: Sequence[str], rows: Iterable[Sequence[object]], *, name: str | None = None) -> str:
    """An HTML table whose first column names the rows; with a name it becomes a region that scrolls in place."""
    head = element("tr", "".join(element("th", clean(one), scope="col") for one in heads))
    body = "".join(
        element(
            "tr",
            element("th", clean(row[0]), scope="row") + "".join(element("td", clean(cell)) for cell in row[1:]),
        )
        for row in rows
    )
    whole = element("table", element("thead", head) + element("tbody", body))
    if name is None:
        return whole
    # A region that scrolls must be reachable with the keyboard.
    return element("div", whole, class_="scroll", tabindex=0, role="region", aria_label=name)


def count(number: int, word: str) -> str:
    """A number and its noun: ``1 sector``, ``4 sectors``."""
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def in_bytes(amount: int) -> str:
    """A number of bytes that no line break cuts: ``128 B``."""
    return f"{amount}\N{NO-BREAK SPACE}B"


def percent(fraction: float) -> str:
    """A fraction as per cent: ``12.5 %``; a dash where it has no meaning."""
    return "–" if math.isnan(fraction) else f"{100 * fraction:.4g}\N{NO-BREAK SPACE}%"
