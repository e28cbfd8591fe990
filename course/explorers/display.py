"""How an explorer reaches the page: an ordinary picture first, then the widget.

The static part is what GitHub, nbviewer, a printed page and a reader without a kernel see. Where the widget
is alive it shows the same and more, so its style hides the static part.
"""

from __future__ import annotations

import secrets
from typing import Any

import ipywidgets as widgets
from IPython.display import HTML, display

from course.figures.style import CSS
from course.figures.svg import element

__all__ = ["show", "show_html"]


def show(static: str, parts: list[Any]) -> Any:
    """Display `static` (HTML), then the widgets `parts` in a column; return the column."""
    # Random, not counted: a count would start again with the kernel and hide pictures of the last session.
    name = f"gmc-static-{secrets.token_hex(4)}"
    style = widgets.HTML(element("style", f"{CSS}.{name}{{display:none}}"))
    style.layout.display = "none"
    column = widgets.VBox([*parts, style])
    column.add_class("gmc")
    display(HTML(element("div", static, class_=name)))
    # What ipywidgets itself would send, but with words for readers that show no widgets.
    bundle = {
        "application/vnd.jupyter.widget-view+json": {
            "version_major": 2,
            "version_minor": 0,
            "model_id": column.model_id,
        },
        "text/plain": "Run this cell in Jupyter for the interactive part.",
    }
    display(bundle, raw=True)
    return column


def show_html(markup: str) -> None:
    """Display HTML that needs no widget, dark on a dark page. Where styles are stripped it is light."""
    display(HTML(element("div", element("style", CSS) + markup, class_="gmc")))
