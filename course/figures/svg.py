"""SVG and HTML as strings: one function that escapes, so that no drawing code has to remember to."""

from __future__ import annotations

import base64
import re
from functools import cache, lru_cache
from html import escape

__all__ = ["clean", "data_uri", "element", "text"]

_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@lru_cache(maxsize=1024)
def clean(words: object) -> str:
    """Plain text made safe as content or attribute: markup escaped, characters XML forbids replaced."""
    return escape(_FORBIDDEN.sub("\ufffd", str(words)), quote=True)


def element(tag: str, /, content: str = "", **attributes: object) -> str:
    """One element. `content` is markup already; attribute values are escaped here.

    Underscores in attribute names become hyphens (``stroke_width``) and a last one is dropped (``class_``).
    An attribute that is None is left out. Numbers are rounded to 0.01, which is invisible and short.
    """
    head = tag
    for name, value in attributes.items():
        if value is None:
            continue
        shown = round(value, 2) if isinstance(value, float) else value if type(value) is int else clean(value)
        head += f' {_attribute(name)}="{shown}"'
    return f"<{head}>{content}</{tag}>" if content or tag not in _VOID else f"<{head}/>"


_VOID = frozenset({"br", "circle", "col", "img", "line", "path", "rect"})


@cache
def _attribute(name: str) -> str:
    return name.rstrip("_").replace("_", "-")


def text(x: float, y: float, words: object, **attributes: object) -> str:
    """Words in an SVG, at a point of the base line."""
    return element("text", clean(words), x=x, y=y, **attributes)


def data_uri(svg: str) -> str:
    """The SVG as an address for ``<img src>``, the form that sanitizing viewers keep."""
    return "data:image/svg+xml;base64," + base64.b64encode(svg.encode()).decode()
