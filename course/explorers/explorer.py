"""What every explorer does: presets and Reset, controls, the picture, its sentence and notes, "Profile this".

An explorer is a subclass that names its settings (a frozen dataclass whose fields are the names of the controls)
and says how to draw them. The controls call `redraw` once per change, however many of them it moves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Generic, NamedTuple, TypeVar

import ipywidgets as widgets

from course.explorers.controls import Control, Dropdown, Panel
from course.explorers.profile_button import Comparison, ProfileButton
from course.figures.svg import clean, element

__all__ = ["OWN", "Drawing", "Explorer", "Preset", "by_name", "preset_of", "start", "still"]

OWN = "your own setting"

Settings = TypeVar("Settings")


@dataclass(frozen=True)
class Preset(Generic[Settings]):
    """A named setting with one sentence about why it is worth a look."""

    name: str
    settings: Settings
    about: str


class Drawing(NamedTuple):
    """What an explorer shows of one setting."""

    picture: str
    """HTML: the picture and the numbers beside it."""
    sentence: str
    """The same in words: alt text and live text."""
    notes: str
    """HTML below: the code line, what is special, what the picture leaves out."""


def by_name(*presets: Preset[Settings]) -> dict[str, Preset[Settings]]:
    """Presets by their names, in order."""
    return {preset.name: preset for preset in presets}


def start(presets: Mapping[str, Preset[Settings]], name: str) -> Settings:
    """The settings of a preset; ValueError lists the names."""
    if name not in presets:
        raise ValueError(f"there is no preset {name!r}; there are: {', '.join(presets)}.")
    return presets[name].settings


def preset_of(presets: Mapping[str, Preset[Settings]], settings: Settings) -> Preset[Settings] | None:
    """The preset that is set exactly so."""
    return next((preset for preset in presets.values() if preset.settings == settings), None)


def still(picture: str, *caption: str) -> str:
    """A picture that needs no kernel: `picture` is HTML, the caption's parts are too."""
    return element("figure", picture + element("figcaption", " ".join(caption)), style="margin:0")


class Explorer(Generic[Settings]):
    """Controls on top, the picture and its numbers below; `parts` are the widgets in reading order."""

    table_name = ""
    """Words of the button that opens a table below the picture; an explorer without a table has none."""

    kept: tuple[str, ...] = ()
    """Settings that a preset leaves as they are."""

    def __init__(
        self,
        presets: Mapping[str, Preset[Settings]],
        start: Settings,
        controls: Mapping[str, Control],
        columns: Sequence[Sequence[str]],
    ) -> None:
        """Build the widgets and draw `start`.

        controls: by the names of the settings' fields; a control that limits another one comes before it.
        columns: which controls stand below each other.
        """
        self._presets, self._start, self._type, self._columns = presets, start, type(start), columns
        found = preset_of(presets, start)
        self.presets = Dropdown("Start from", [(n, n) for n in (*presets, OWN)], found.name if found else OWN)
        self.reset = widgets.Button(description="Reset", layout=widgets.Layout(width="80px"), icon="undo")
        self.panel = Panel(controls, self.redraw)
        self.picture, self.status, self.notes = widgets.HTML(), widgets.HTML(), widgets.HTML()
        self.show_table = widgets.ToggleButton(
            value=False,
            description=self.table_name,
            layout=widgets.Layout(width="auto", align_self="flex-start"),
        )
        self.table_below = widgets.HTML()
        self.profile = ProfileButton(lambda: self.compare(self.settings))
        self.presets.source.observe(self._on_preset, names="value")
        self.reset.on_click(lambda _button: self.set(self._start))
        self.show_table.observe(lambda _change: self._draw_table(), names="value")
        self.redraw()

    def draw(self, settings: Settings) -> Drawing:
        """Say what to show; for the subclass."""
        raise NotImplementedError

    def compare(self, settings: Settings) -> Comparison:
        """Run the setting as a kernel; for the subclass."""
        raise NotImplementedError

    def table(self, settings: Settings) -> str:
        """The table as HTML; for a subclass that has one."""
        raise NotImplementedError

    def enable(self, settings: Settings) -> None:
        """Switch controls off that mean nothing in this setting; for the subclass."""

    @property
    def settings(self) -> Settings:
        """What the controls say."""
        return self._type(**self.panel.values())

    def set(self, settings: Settings) -> None:
        """Move every control; the picture is drawn once."""
        self.panel.set({one.name: getattr(settings, one.name) for one in fields(settings)})  # type: ignore[arg-type]

    @property
    def parts(self) -> list[Any]:
        """The widgets, in reading order."""
        row = widgets.Layout(flex_flow="row wrap", align_items="center")
        column = widgets.Layout(flex="1 1 330px", min_width="330px")
        control = self.panel.controls
        columns = [widgets.VBox([control[n].widget for n in names], layout=column) for names in self._columns]
        return [
            widgets.HBox([self.presets.widget, self.reset], layout=row),
            widgets.HBox(columns, layout=widgets.Layout(flex_flow="row wrap")),
            self.picture,
            self.status,
            self.notes,
            *([self.show_table, self.table_below] if self.table_name else []),
            *self.below,
        ]

    @property
    def below(self) -> list[Any]:
        """What stands below the notes: "Profile this", unless the subclass has more or less to offer."""
        return self.profile.parts

    def redraw(self) -> None:
        """Show what the controls say."""
        settings = self.settings
        found = next((one for one in self._presets.values() if self._filled(one) == settings), None)
        self.presets.value = found.name if found else OWN
        self.enable(settings)
        drawing = self.draw(settings)
        self.picture.value = drawing.picture
        self.status.value = element("p", clean(drawing.sentence), role="status")
        about = element("p", clean(found.about)) if found else ""
        self.notes.value = about + drawing.notes
        self.profile.forget()
        self._draw_table()

    def _draw_table(self) -> None:
        self.table_below.value = self.table(self.settings) if self.show_table.value else ""

    def _on_preset(self, change: Any) -> None:
        if change.new != OWN and self._filled(self._presets[change.new]) != self.settings:
            self.set(self._filled(self._presets[change.new]))

    def _filled(self, preset: Preset[Settings]) -> Settings:
        """What choosing this preset sets now."""
        now = self.settings
        kept = {name: getattr(now, name) for name in self.kept}
        return replace(preset.settings, **kept)  # type: ignore[type-var]
