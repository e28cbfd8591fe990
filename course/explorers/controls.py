"""The controls that explorers share: each has a name that a screen reader says, and works by keyboard.

Only what ipywidgets 7.7 and 8 have in common is used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import ipywidgets as widgets
import traitlets

__all__ = ["Choice", "Control", "Dropdown", "FieldOfRecord", "Number", "Panel"]

_NAME_STYLE = {"description_width": "96px"}
# The margin is half a handle, which sticks out at both ends.
_SLIDER_LAYOUT = {"flex": "1 1 90px", "min_width": "90px", "margin": "2px 14px"}


class Control:
    """A value with a name. `widget` is what is shown, `source` the widget that holds the value."""

    widget: Any
    source: Any

    @property
    def value(self) -> Any:
        """What the control is set to."""
        return self.source.value

    @value.setter
    def value(self, value: Any) -> None:
        self.source.value = value


class Number(Control):
    """A whole number: a slider to play with and a labelled number box that always agree.

    ipywidgets' sliders have no accessible name; the box has one, and takes the keyboard.
    """

    def __init__(self, name: str, value: int, low: int, high: int) -> None:
        self.source = widgets.BoundedIntText(
            value=value, min=low, max=high, description=name, style=_NAME_STYLE, layout=widgets.Layout(width="176px")
        )
        self.slider = widgets.IntSlider(value=value, min=low, max=high, readout=False, layout=_SLIDER_LAYOUT)
        widgets.link((self.source, "value"), (self.slider, "value"))
        self.widget = widgets.HBox([self.source, self.slider], layout=widgets.Layout(width="auto"))

    def enable(self, on: bool) -> None:
        """Whether it can be changed now."""
        self.source.disabled = self.slider.disabled = not on

    def limit(self, high: int) -> None:
        """Change the highest value; a value above it comes down."""
        # Grow before the value can, shrink after it must: neither widget ever holds a value out of range.
        for part in (self.source, self.slider):
            part.max = high


class Choice(Control):
    """One of a few values, all of them in sight."""

    def __init__(self, name: str, options: Sequence[tuple[str, Any]], value: Any) -> None:
        self.source = widgets.ToggleButtons(
            options=list(options),
            value=value,
            description=name,
            style={**_NAME_STYLE, "button_width": "auto"},
            layout=widgets.Layout(width="auto", display="flex", flex_flow="row nowrap"),
        )
        self.widget = self.source


class Dropdown(Control):
    """One of many values."""

    def __init__(self, name: str, options: Sequence[tuple[str, Any]], value: Any) -> None:
        self.source = widgets.Dropdown(
            options=list(options),
            value=value,
            description=name,
            style=_NAME_STYLE,
            layout=widgets.Layout(width="316px"),
        )
        self.widget = self.source


class FieldOfRecord(Control):
    """One field of a record: its size, and whether a kernel reads it; the value is ``make(size, read)``."""

    def __init__(
        self, name: str, sizes: Sequence[tuple[str, int]], value: tuple[int, bool], make: Callable[[int, bool], Any]
    ) -> None:
        self._make = make
        size, read = value
        layout = widgets.Layout(width="250px")
        self.size = widgets.Dropdown(
            options=list(sizes), value=size, description=name, style=_NAME_STYLE, layout=layout
        )
        # The box says the name again: seen alone, by a screen reader say, "read" would be one of many.
        self.read = widgets.Checkbox(
            value=read, description=f"read {name.split()[-1]}", indent=False, layout=widgets.Layout(width="90px")
        )
        self.source = _Value(value)
        for part in (self.size, self.read):
            part.observe(self._on_part, names="value")
        self.source.observe(self._on_value, names="value")
        self.widget = widgets.HBox([self.size, self.read])

    def _on_part(self, _change: Any) -> None:
        self.source.value = self._make(self.size.value, self.read.value)

    def _on_value(self, _change: Any) -> None:
        size, read = self.source.value
        # One after the other would pass through a value that nobody asked for.
        for part, value in ((self.size, size), (self.read, read)):
            part.unobserve(self._on_part, names="value")
            part.value = value
            part.observe(self._on_part, names="value")


class _Value(traitlets.HasTraits):
    """A value that others can watch."""

    value = traitlets.Any()

    def __init__(self, value: Any) -> None:
        super().__init__(value=value)


class Panel:
    """Controls that belong together: one call per change, however many controls it moves."""

    def __init__(self, controls: Mapping[str, Control], changed: Callable[[], None]) -> None:
        self.controls = dict(controls)
        self._changed = changed
        self._quiet = False
        for control in self.controls.values():
            control.source.observe(self._on_change, names="value")

    def values(self) -> dict[str, Any]:
        """The value of every control."""
        return {name: control.value for name, control in self.controls.items()}

    def set(self, values: Mapping[str, Any]) -> None:
        """Set several controls and report one change.

        They are set in the panel's order: a control that limits another one comes before it.
        """
        with self.quietly():
            for name in (name for name in self.controls if name in values):
                self.controls[name].value = values[name]
        self._changed()

    @contextmanager
    def quietly(self) -> Iterator[None]:
        """Changes made inside are not reported."""
        before, self._quiet = self._quiet, True
        try:
            yield
        finally:
            self._quiet = before

    def _on_change(self, _change: Any) -> None:
        if not self._quiet:
            self._changed()
