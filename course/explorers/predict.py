"""Predict, then reveal: a question whose picture unlocks when the student commits a number.

Nothing blocks: run from top to bottom (by a grader, say) the cell just shows the question. Without a kernel
the question is still a question, and the answer lies folded below it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ipywidgets as widgets

from course.figures.svg import clean, element

__all__ = ["Prediction", "folded"]


class Prediction:
    """A question, a number box and a Commit button; `reveal(number)` gives the HTML to show after the commit."""

    def __init__(self, question: str, reveal: Callable[[int], str], *, high: int) -> None:
        self._reveal = reveal
        self.question = widgets.HTML(element("p", element("b", "Predict. ") + clean(question)))
        self.box = widgets.BoundedIntText(
            value=0,
            min=0,
            max=high,
            description="Your number",
            style={"description_width": "96px"},
            layout=widgets.Layout(width="196px"),
        )
        self.commit = widgets.Button(description="Commit", button_style="primary", layout=widgets.Layout(width="110px"))
        self.answer = widgets.HTML()
        self.commit.on_click(self._on_commit)

    @property
    def parts(self) -> list[Any]:
        """The widgets, in reading order."""
        return [self.question, widgets.HBox([self.box, self.commit]), self.answer]

    def _on_commit(self, _button: Any) -> None:
        self.box.disabled = self.commit.disabled = True
        self.commit.description = "Committed"
        self.answer.value = self._reveal(int(self.box.value))


def folded(question: str, answer: str) -> str:
    """The question for a reader without a kernel: the HTML `answer` waits behind a line to open."""
    invitation = "Choose a number first. Then open this line to see the answer."
    return element("p", element("b", "Predict. ") + clean(question)) + element(
        "details", element("summary", invitation) + answer
    )
