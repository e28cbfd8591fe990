"""How the tests of the explorers read what is on the page."""

from __future__ import annotations

from xml.etree import ElementTree

import ipywidgets as widgets
import pytest

from course.explorers import display as display_module


def parsed(html):
    return ElementTree.fromstring(f"<body>{html}</body>")


def numbers(html):
    """The numbers as a reader of the page finds them, by name."""
    return {dd.get("data-name"): float(dd.get("data-value")) for dd in parsed(html).iter("dd")}


def with_data(html, name):
    """The elements that carry ``data-<name>``."""
    return [part for part in parsed(html).iter() if part.get(f"data-{name}") is not None]


def statuses(html):
    return ["".join(part.itertext()) for part in parsed(html).iter() if part.get("role") == "status"]


def controls_of(explorer):
    """Every widget that a person can change, but for sliders: each has a number box that says the same."""

    def walk(parts):
        for part in parts:
            yield part
            yield from walk(getattr(part, "children", ()))

    return [
        part for part in walk(explorer.parts) if not isinstance(part, (widgets.Box, widgets.HTML, widgets.IntSlider))
    ]


@pytest.fixture
def displayed(monkeypatch):
    """What a call of an explorer sends to the page: HTML strings, and widgets as the view that shows them."""
    sent = []

    def capture(value, raw=False):
        sent.append(value if raw else value.data)

    monkeypatch.setattr(display_module, "display", capture)
    return sent


def widget_shown(bundle):
    model_id = bundle["application/vnd.jupyter.widget-view+json"]["model_id"]
    if widgets.__version__.startswith("7."):
        return widgets.Widget.widgets[model_id]
    from ipywidgets.widgets.widget import _instances

    return _instances[model_id]
