"""The explorer of chapter `roofline`: a card, and FLOP and bytes for each element -> what a kernel can attain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from course.cards import Unit, card
from course.explorers.controls import Choice, Dropdown, Number
from course.explorers.display import show
from course.explorers.explorer import Drawing, Explorer, start, still
from course.explorers.predict import Prediction, folded
from course.explorers.profile_button import Comparison
from course.explorers.roofline_profile import compare
from course.explorers.rooflines import PRESETS, ROOFED, UNIT_NAMES, Settings
from course.figures import roofline as figure
from course.figures.parts import count, number_list
from course.figures.style import image
from course.figures.svg import clean, element
from course.models.roofline import attainable, ridges

__all__ = ["RooflineExplorer", "difference", "predict_attainable", "roofline"]


def roofline(*profiles: Any, preset: str = "saxpy", on: str = "a100-80gb", unit: Unit = "fp32") -> None:
    """Play with the roofline of a card: what a kernel with so many FLOP and bytes for each element can attain.

    profiles: kernels that you have profiled (`course.profile`); each is drawn as a bar, because the caches decide
    how much of what L1 moves comes from DRAM.
    preset: the kernel to start from, by its name in the explorer ("copy", "naive matmul", ...).
    on, unit: the card and what computes on it ("fp32", "fp16", ...).
    """
    spans = tuple(_span(profile) for profile in profiles)
    begin = _settings(replace(start(PRESETS, preset), card=card(on).key, unit=unit))
    show(_still(begin, spans), RooflineExplorer(begin, spans).parts)


def predict_attainable(
    flop: int = 2, reads: int = 2, writes: int = 1, *, value_bytes: int = 4, on: str = "a100-80gb", unit: Unit = "fp32"
) -> None:
    """Ask what a kernel can attain in GFLOP/s; the roofline shows after the student's number.

    flop, reads, writes: for each element, the FLOP and the values of `value_bytes` bytes read and written.
    """
    settings = _settings(Settings(card(on).key, unit, "", flop, reads, writes, value_bytes))
    where = card(on)
    question = (
        f"For each element, a kernel reads {count(reads, 'value')} of {value_bytes} bytes, writes {writes} and does "
        f"{flop} FLOP. {where.name} has {where.dram_gb_per_s:,.0f} GB/s of DRAM bandwidth and {unit.upper()} units for "
        f"{where.peak_tflops(unit):g} TFLOP/s. How many GFLOP/s can the kernel attain at most? (A whole number; "
        "2 % off is fine.)"
    )
    prediction = Prediction(question, lambda number: _reveal(number, settings), high=9_999_999)
    show(folded(question, _still(settings, ())), prediction.parts)


class RooflineExplorer(Explorer[Settings]):
    """A card, a second one, and the work for one element; the roofline with several kernels on it."""

    kept = ("card", "unit", "other", "others")

    def __init__(self, begin: Settings, spans: Sequence[figure.Span] = ()) -> None:
        self._spans = tuple(spans)
        self._counted: tuple[figure.Span, ...] = ()
        self._plot = figure.RooflinePlot()
        cards = [(card.name, key) for key, card in ROOFED.items()]
        self.card = Dropdown("Card", cards, begin.card)
        self.unit = Dropdown("Unit", _units(begin.card), begin.unit)
        self.card.source.observe(self._on_card, names="value")
        super().__init__(
            PRESETS,
            begin,
            {
                "card": self.card,
                "unit": self.unit,
                "other": Dropdown("Compare with", [("no other card", ""), *cards], begin.other),
                "flop": Number("FLOP", begin.flop, 0, 1024),
                "reads": Number("Values read", begin.reads, 1, 16),
                "writes": Number("Values written", begin.writes, 0, 16),
                "value_bytes": Choice("Value size", [(f"{n} B", n) for n in (2, 4, 8)], begin.value_bytes),
                "others": Choice("More kernels", [("shown", True), ("hidden", False)], begin.others),
            },
            [["flop", "reads", "writes", "value_bytes"], ["card", "unit", "other", "others"]],
        )

    def _on_card(self, change: Any) -> None:
        """A card offers the units whose peak is published; keep the chosen one if it does."""
        with self.panel.quietly():
            wanted = self.unit.value
            self.unit.source.options = _units(change.new)
            self.unit.value = wanted if wanted in ridges(change.new) else "fp32"

    def draw(self, settings: Settings) -> Drawing:
        """The roofline, its numbers, the sentence and the arithmetic behind it."""
        spans = (*self._spans, *self._counted)
        points = _points(settings, spans)
        self._plot.draw(settings.machines, points, spans)
        shown = self._plot.image(figure.sentence(settings.machines, points, spans))
        return Drawing(
            shown + number_list(figure.quantities(settings.result)),
            figure.sentence(settings.machines, [point for point in points if point.chosen], spans),
            _notes(settings),
        )

    def redraw(self) -> None:
        """Show what the controls say, without the profile of an earlier setting."""
        self._counted = ()
        super().redraw()

    def compare(self, settings: Settings) -> Comparison:
        """Profile the setting, and put the profile on the roofline too."""
        found = compare(settings)
        self._counted = (_span(found.profile),)
        self.picture.value = self.draw(settings).picture
        return found


def _settings(settings: Settings) -> Settings:
    """Refuse a card without a roof, and a unit that it lacks, before anything is shown."""
    settings.machine.ridge, settings.intensity  # noqa: B018
    return settings


def _span(profile: Any) -> figure.Span:
    low, high = profile.arithmetic_intensity
    return figure.Span(profile.kernel, low, high)


def _units(key: str) -> list[tuple[str, Unit]]:
    return [(UNIT_NAMES[unit], unit) for unit in ridges(key)]


def _name(settings: Settings) -> str:
    found = (name for name, preset in PRESETS.items() if preset.settings.work == settings.work)
    return next(found, "your kernel")


def _points(settings: Settings, spans: Sequence[figure.Span]) -> list[figure.Point]:
    """The kernel that is set, and those of the presets where there is room for their names.

    They stay where they are when one of them is set, too: drawing them again would cost more than all the rest.
    """
    room = settings.others and len(spans) + len(PRESETS) < figure.ROWS
    others = {other: preset.settings for other, preset in PRESETS.items() if room}
    chosen = figure.Point(_name(settings), settings.intensity, chosen=True)
    return [chosen, *(figure.Point(other, one.intensity) for other, one in others.items())]


def _still(settings: Settings, spans: Sequence[figure.Span]) -> str:
    machines, points = settings.machines, _points(settings, spans)
    words = figure.sentence(machines, points, spans)
    return still(image(figure.roofline(machines, points, spans), words), clean(words))


def _notes(settings: Settings) -> str:
    """The arithmetic with the present values, what the second card says, what the picture leaves out."""
    on = settings.machine
    moved = f"{settings.value_bytes} * ({settings.reads} + {settings.writes})"
    formula = f"min({settings.flop} / ({moved}) * {on.gb_per_s:g} / 1000, {on.peak_tflops:g})"
    lines = [
        f"For each element {settings.flop} FLOP and {settings.bytes} B. Attainable TFLOP/s: "
        + element("code", clean(formula))
    ]
    if settings.other:
        lines.append(clean(_second(settings)))
    small = (
        "Intensity here is FLOP per byte that the kernel asks for: DRAM moves fewer bytes where caches hold some, and "
        "more where lanes leave parts of their sectors unused. The roof is a limit; a kernel with too few bytes in "
        "flight stays below it."
    )
    return "".join(element("p", line) for line in lines) + element("p", small, class_="small quiet")


def _second(settings: Settings) -> str:
    first, second = settings.machines
    if not settings.flop:
        return f"{second.name}: {second.gb_per_s / first.gb_per_s:.3g} times the bandwidth, which decides here."
    here, there = (float(attainable(settings.intensity, on).attainable_tflops) for on in (first, second))
    return f"On {second.name} the same kernel attains {there:.3g} TFLOP/s at most, {there / here:.3g} times as much."


def _reveal(number: int, settings: Settings) -> str:
    chosen, *others = _points(settings, ())
    points = [replace(chosen, marked_tflops=number / 1000, mark="you said"), *others]
    words = figure.sentence(settings.machines, points)
    plot = figure.RooflinePlot()
    plot.draw(settings.machines, points)
    truth = round(1000 * float(settings.result.attainable_tflops))
    return (
        element("p", clean(difference(number, settings)), role="status", data_prediction=number, data_truth=truth)
        + plot.image(words)
        + number_list(figure.quantities(settings.result))
    )


def difference(number: int, settings: Settings) -> str:
    """One sentence about a prediction in GFLOP/s, beside the truth."""
    on, truth = settings.machine, 1000 * float(settings.result.attainable_tflops)
    if _near(number, truth):
        return f"You said {number:,}, and it is {truth:,.0f} GFLOP/s: right."
    both = f"You said {number:,}, and it is {truth:,.0f} GFLOP/s: "
    if _near(number, 1000 * on.peak_tflops):
        return both + f"{number:,} is the peak, and DRAM cannot bring the bytes for it."
    if _near(number, on.gb_per_s * settings.intensity):
        return both + f"DRAM could feed {number:,}, but the peak is lower."
    if number and _near(1000 * number, truth):
        return both + f"{number:,} would be TFLOP/s, and one of them is 1000 GFLOP/s."
    if _near(number, on.gb_per_s):
        return both + f"{number:,} is the bandwidth in GB/s; multiply it by the FLOP for each byte."
    if settings.flop and _near(number, on.gb_per_s / settings.intensity):
        return both + "that is bytes per FLOP; the intensity is FLOP per byte."
    if settings.writes and _near(number, on.gb_per_s * settings.flop / (settings.value_bytes * settings.reads)):
        return both + "you counted what is read; what is written moves too."
    if _near(number, on.gb_per_s * settings.flop / (settings.reads + settings.writes)):
        return both + f"you counted values; a value has {settings.value_bytes} bytes."
    return both + "divide FLOP by bytes, multiply by the bandwidth, and stop at the peak."


def _near(number: float, truth: float) -> bool:
    return abs(number - truth) <= 0.02 * truth
