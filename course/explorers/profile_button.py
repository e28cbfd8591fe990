"""The button "Profile this": the explorer's setting as a real kernel in the simulator, model and profile side by side.

An explorer gives the button one function that runs its present setting and says what to compare::

    self.profile = ProfileButton(self._compare)     # def _compare(self) -> Comparison
    ... [*parts, *self.profile.parts]               # below the picture
    self.profile.forget()                           # in _draw: an answer about another setting must not stay

The function is called by a click only; so nothing of the simulator is loaded before.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import ipywidgets as widgets

from course.figures.svg import clean, element

if TYPE_CHECKING:
    from course.profiling.profile import Profile

__all__ = ["Comparison", "ProfileButton", "Row", "comparison_html"]


@dataclass(frozen=True)
class Row:
    """One number as the model says it and as the profile counted it."""

    name: str
    """As in the explorer's numbers: "Sectors", "Efficiency" ..."""
    model: float
    profile: float
    unit: str = ""
    """"B", "FLOP/B" ...; "%" shows a fraction as per cent."""

    @property
    def agrees(self) -> bool:
        """Whether both are the same number; two undefined ones (nan) are."""
        both_undefined = math.isnan(self.model) and math.isnan(self.profile)
        return both_undefined or math.isclose(self.model, self.profile, rel_tol=1e-9)


@dataclass(frozen=True)
class Comparison:
    """What one press of the button shows."""

    profile: Profile
    launch: str
    """The launch as a student would write it: ``strided[1, 32](x, out, 2, 0, 32)``."""
    rows: Sequence[Row]
    lines: Sequence[int] = ()
    """Numbers of the kernel's source lines to quote; without any, every line that accesses memory."""
    note: str = ""
    """What the reader must know to compare, in one sentence."""

    @property
    def agrees(self) -> bool:
        """Whether model and profile say the same everywhere."""
        return all(row.agrees for row in self.rows)


class ProfileButton:
    """The button and its answer; `parts` are the widgets in reading order."""

    def __init__(self, compare: Callable[[], Comparison]) -> None:
        self._compare = compare
        self.button = widgets.Button(
            description="Profile this",
            icon="play",
            tooltip="Run this setting as a kernel in the simulator and count it line by line",
            layout=widgets.Layout(width="140px"),
        )
        self.answer = widgets.HTML()
        self.comparison: Comparison | None = None
        self.button.on_click(self._on_click)

    @property
    def parts(self) -> list[Any]:
        """The widgets, in reading order."""
        return [self.button, self.answer]

    def forget(self) -> None:
        """Take the answer away: the setting has changed."""
        self.comparison = None
        if self.answer.value:
            self.answer.value = ""

    def _on_click(self, _button: Any) -> None:
        self.button.disabled = True
        self.answer.value = element("p", "The simulator runs the kernel and counts ...", role="status")
        try:
            self.comparison = self._compare()
            self.answer.value = comparison_html(self.comparison)
        except Exception as error:  # what a callback raises would land on stderr, where no student looks
            words = f"The kernel could not be profiled. {type(error).__name__}: {error}"
            self.answer.value = element("p", clean(words), role="status")
        finally:
            self.button.disabled = False


def comparison_html(comparison: Comparison) -> str:
    """The kernel's line, a table (number, model, profile, same or not), and the whole listing folded below."""
    head = "".join(element("th", name, scope="col") for name in ("Number", "Model", "Profile", "Same?"))
    body = "".join(_row(row) for row in comparison.rows)
    return (
        element("p", "In the simulator: " + element("code", clean(comparison.launch)))
        + element("pre", element("code", clean(_quoted(comparison))), tabindex=0)
        + element("p", clean(_verdict(comparison)), role="status")
        + element("table", element("thead", element("tr", head)) + element("tbody", body), class_="beside")
        + (element("p", clean(comparison.note), class_="small quiet") if comparison.note else "")
        + element("details", element("summary", "The whole profile") + comparison.profile._repr_html_())
    )


def _verdict(comparison: Comparison) -> str:
    if comparison.agrees:
        return "The model and the profile say the same."
    names = ", ".join(row.name for row in comparison.rows if not row.agrees)
    return f"The model and the profile differ: {names}."


def _quoted(comparison: Comparison) -> str:
    """The lines of the kernel that matter, with their numbers."""
    wanted = set(comparison.lines)
    taken = comparison.profile
    shown = {
        line.number: line.text.strip() for line in taken.lines if (line.number in wanted if wanted else line.sites)
    }
    for site in (counts.site for counts in taken.sites):
        if site.function != taken.kernel and site.line in wanted:  # the lines of a profile are the kernel's own
            shown[site.line] = f"{site.text}  in {site.function}()"
    return "\n".join(f"{number:4}  {text}" for number, text in sorted(shown.items()))


def _row(row: Row) -> str:
    cells = element("td", _shown(row.model, row.unit), data_model=f"{row.model:.17g}")
    cells += element("td", _shown(row.profile, row.unit), data_profile=f"{row.profile:.17g}")
    cells += element("td", "= yes" if row.agrees else "≠ no")
    return element("tr", element("th", clean(row.name), scope="row") + cells, data_row=row.name)


def _shown(value: float, unit: str) -> str:
    if math.isnan(value):
        return "–"
    if unit == "%":
        return f"{100 * value:.4g}\N{NO-BREAK SPACE}%"
    number = f"{value:,.0f}" if value == int(value) else f"{value:,.4g}"
    return clean(f"{number}\N{NO-BREAK SPACE}{unit}".strip())
