"""Build build/gallery.html: every picture of the course on one page, light and dark, each with its alt text.

The pictures are those that a student sees: each explorer in each of its presets, the start page's pictures, the
sweeps, and the heat of a profile. Open the file in any browser; it needs nothing else.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import NamedTuple

import numpy as np

import course.explorers as explore
from course.cards import card
from course.explorers import display as page
from course.explorers._memory import PyramidExplorer
from course.explorers.explorer import Explorer
from course.figures.style import LIGHT_CSS, dark_css
from course.figures.svg import clean, element
from course.kernels.coalescing import strided
from course.profiling.profile import profile

ROOT = Path(__file__).resolve().parents[1]
FILE = ROOT / "build" / "gallery.html"

_PAGE_CSS = """
body{font:15px/1.5 system-ui,sans-serif;margin:24px auto;max-width:1760px;padding:0 20px;color:#1b1f24}
nav a{margin-right:14px}h2{margin-top:44px;border-bottom:1px solid #8c959f}
.pair{display:flex;flex-wrap:wrap;gap:14px}.pair>div{flex:1 1 836px;max-width:870px}
.alt{max-width:836px;color:#57606a}
"""


class Picture(NamedTuple):
    """One picture of the gallery."""

    chapter: str
    title: str
    html: str


def main() -> None:
    """Write the page and say how many pictures it has."""
    shown = list(pictures())
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text(gallery(shown), encoding="utf-8")
    print(f"{FILE.relative_to(ROOT)}: {len(shown)} pictures, {FILE.stat().st_size / 2**20:.1f} MiB")


def pictures() -> Iterator[Picture]:
    """Every picture of the course."""
    yield from _start_page()
    yield from _explorers()
    for element_bytes in (1, 4):
        yield Picture("sweep", f"stride sweep, {element_bytes} B", _still("stride_sweep", element_bytes))
    x, out = np.ones(32 * 256, np.float32), np.zeros(256, np.float32)
    taken = profile(strided, 4, 64, x, out, 8, 0, 256)
    yield Picture("heat", "a strided load and a contiguous store", _still("heat", taken))


def _start_page() -> Iterator[Picture]:
    explorer = PyramidExplorer(card("h200"))
    for key in ("h200", "t4", "mi300x"):
        explorer.card.value = key
        yield Picture("start", f"memory pyramid, {card(key).name}", explorer.picture.value)
    for stride in (1, 4):
        yield Picture("start", f"way of a load, stride {stride}", _still("way_of_a_load", stride))


def _explorers() -> Iterator[Picture]:
    """Each explorer in each of its presets, as its widget shows it."""
    for name in explore.__all__:
        module = importlib.import_module(explore._LAZY[name])
        kinds = [kind for kind in vars(module).values() if isinstance(kind, type) and issubclass(kind, Explorer)]
        # The function that opens an explorer carries its chapter's name, and so does its module.
        if module.__name__ != f"course.explorers._{name}" or kinds in ([], [Explorer]):
            continue
        (kind,) = (one for one in kinds if one is not Explorer)
        presets = vars(module)["PRESETS"]
        explorer = kind(next(iter(presets.values())).settings)
        for preset in presets:
            explorer.presets.value = preset
            yield Picture(name, preset, explorer.picture.value)


def _still(name: str, *arguments: object) -> str:
    """What a call shows that needs no widget."""
    sent: list[str] = []
    before = page.display
    page.display = lambda shown: sent.append(shown.data)
    try:
        getattr(explore, name)(*arguments)
    finally:
        page.display = before
    return "".join(sent)


def gallery(shown: list[Picture]) -> str:
    """The page."""
    chapters = list(dict.fromkeys(one.chapter for one in shown))
    links = "".join(element("a", clean(chapter), href=f"#{chapter}") for chapter in chapters)
    body = [element("h1", "Every picture of the course"), element("nav", links)]
    for chapter in chapters:
        body.append(element("h2", clean(chapter), id=chapter))
        body += [_pair(one) for one in shown if one.chapter == chapter]
    style = element("style", _PAGE_CSS + LIGHT_CSS + dark_css((".dark .gmc",)))
    head = '<meta charset="utf-8">' + element("title", "Gallery") + style
    return "<!doctype html>" + element("html", element("head", head) + element("body", "".join(body)), lang="en")


def _pair(one: Picture) -> str:
    framed = element("div", one.html, class_="gmc")
    alt = next(iter(re.findall(r'(?:alt|aria-label)="([^"]*)"', one.html)), "")
    if not alt:
        raise ValueError(f"{one.chapter}, {one.title}: the picture has no alt text.")
    return element(
        "section",
        element("h3", clean(one.title))
        + element("div", element("div", framed) + element("div", framed, class_="dark"), class_="pair")
        + element("p", element("b", "Alt text: ") + clean(unescape(alt)), class_="alt"),
    )


if __name__ == "__main__":
    main()
