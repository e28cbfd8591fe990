"""The schedule of a pipeline as a chart: what every buffer and the threads do, over time.

Two charts share one time axis: above the same tiles with one stage, below with the chosen number of stages. The
axis grows in steps (48, 96, 192 ...) with the time of one stage only, so adding a stage never rescales it.
This file draws; every time comes from `course.models.pipeline`.
"""

from __future__ import annotations

from functools import cache

from course.figures.parts import Quantity, count, frame, number_list, picture
from course.figures.svg import element, text
from course.models.pipeline import Schedule

__all__ = ["MOST_STAGES", "numbers", "pipeline_image", "pipeline_svg", "sentence"]

MOST_STAGES = 4
"""Rows that the lower chart has room for."""

WIDTH, HEIGHT = 800, 286
_LEFT, _RIGHT = 78, 780
_ROW, _PITCH, _STRIP = 22, 26, 12
_ABOVE, _BELOW = 16, 88
"""Base lines of the names of the two charts."""
_AXIS_Y = 228
_LEGEND_Y = 264


def sentence(serial: Schedule, chosen: Schedule) -> str:
    """The chart in one sentence: alt text, live text and caption."""
    take = "takes" if chosen.tiles == 1 else "take"
    first = f"{count(chosen.tiles, 'tile')} in 1 stage {take} {serial.total_time:g}"
    if chosen.stages == 1:
        return f"{first}: the threads compute for {_computing(serial):g} of it and wait for {serial.idle_time:g}."
    # "1 times as fast" would sound like a gain
    faster = f"{chosen.speed_up:.4g} times as fast" if chosen.speed_up > 1 else "no faster"
    return (
        f"{first}, in {chosen.stages} stages {chosen.total_time:g}: {faster}. The threads wait for "
        f"{chosen.idle_time:g} instead of {serial.idle_time:g}, and a block keeps {chosen.shared_bytes:,} B of shared "
        f"memory instead of {serial.shared_bytes:,} B."
    )


def numbers(chosen: Schedule, blocks_per_sm: int) -> str:
    """The numbers beside the chart, as an HTML list of terms; each carries its raw value in data-value.

    blocks_per_sm: blocks that the shared memory of the chosen stages leaves room for.
    """
    return number_list(
        (
            Quantity("time", "Time", chosen.total_time, f"{chosen.total_time:g}", key=True),
            Quantity("speed_up", "Speed-up", chosen.speed_up, f"{chosen.speed_up:.4g}×", key=True),
            Quantity("idle", "Idle", chosen.idle_time, f"{chosen.idle_time:g}"),
            Quantity("waits", "Waits", chosen.waits, f"{chosen.waits}"),
            Quantity("barriers", "Barriers", chosen.barriers, f"{chosen.barriers}"),
            Quantity("shared", "Shared", chosen.shared_bytes, f"{chosen.shared_bytes:,}\N{NO-BREAK SPACE}B"),
            Quantity("blocks", "Blocks per SM", blocks_per_sm, f"{blocks_per_sm}"),
        )
    )


def pipeline_image(serial: Schedule, chosen: Schedule) -> str:
    """The chart as ``<img alt>``: it survives viewers that remove inline SVG. Always light."""
    return picture(pipeline_svg(serial, chosen, alone=True), sentence(serial, chosen), WIDTH)


def pipeline_svg(serial: Schedule, chosen: Schedule, *, alone: bool = False) -> str:
    """Both charts as an SVG of fixed size.

    serial, chosen: the same tiles in one stage and in the chosen number of stages.
    alone: carries its own style; otherwise it takes the page's.
    """
    if serial.stages != 1 or not 1 <= chosen.stages <= MOST_STAGES:
        raise ValueError(
            f"the charts have {serial.stages} and {chosen.stages} stages: expected 1 and 1 to {MOST_STAGES}."
        )
    axis = _Axis(max(serial.total_time, chosen.total_time))
    body = [
        axis.draw(),
        *_chart(axis, serial, _ABOVE, buffers=1),
        *_chart(axis, chosen, _BELOW, buffers=MOST_STAGES),
        _legend(),
    ]
    return frame(body, WIDTH, HEIGHT, sentence(serial, chosen), alone=alone)


class _Axis:
    """The time axis: a multiple of twelve ticks, long enough for `time`."""

    def __init__(self, time: float) -> None:
        self.end = 48.0
        while self.end < time:
            self.end *= 2

    def x(self, time: float) -> float:
        return _LEFT + (_RIGHT - _LEFT) * time / self.end

    def draw(self) -> str:
        ticks = [n * self.end / 12 for n in range(13)]
        grid = "".join(f"M{self.x(tick):.1f} {_ABOVE + 8}V{_AXIS_Y}" for tick in ticks)
        labels = [text(self.x(tick), _AXIS_Y + 14, f"{tick:g}", class_="num quiet") for tick in ticks]
        return (
            element("path", d=grid, class_="grid")
            + element("path", d=f"M{_LEFT} {_AXIS_Y}H{_RIGHT}", class_="axis")
            + "".join(labels)
            + text(0, _AXIS_Y + 14, "Time", class_="quiet")
        )


def _chart(axis: _Axis, schedule: Schedule, y: int, *, buffers: int) -> list[str]:
    """The name, the threads' strip and one row per buffer; rows that are not in use are dashed."""
    strip, rows = y + 8, y + 8 + _STRIP + 5
    parts = [
        text(0, y, count(schedule.stages, "stage"), class_="tier"),
        text(0, strip + 10, "threads", class_="quiet"),
        _threads(axis, schedule, strip),
    ]
    for n in range(buffers):
        top = rows + n * _PITCH
        kept = n < schedule.stages
        parts.append(text(0, top + 15, f"buffer {n}" if kept else "not kept", class_="quiet"))
        parts.append(_box("shelf" if kept else "unmoved", _LEFT, top, _RIGHT - _LEFT, _ROW))
    for tile in range(schedule.tiles):
        top = rows + tile % schedule.stages * _PITCH
        parts.append(_bar(axis, "load", tile, schedule.load_start[tile], schedule.load_end[tile], top))
        parts.append(_bar(axis, "compute", tile, schedule.compute_start[tile], schedule.compute_end[tile], top))
    end = axis.x(schedule.total_time)
    bottom = rows + schedule.stages * _PITCH - (_PITCH - _ROW)
    parts.append(element("path", d=f"M{end:.1f} {y + 2}V{bottom}", class_="end"))
    label = f"{schedule.total_time:g}"
    parts.append(text(min(end, _RIGHT - 4 * len(label)), y - 1, label, class_="tier middle", data_end=label))
    return parts


def _bar(axis: _Axis, kind: str, tile: int, start: float, end: float, top: float) -> str:
    """A load (outlined) or a computation (filled) of a tile in its buffer, named as far as there is room."""
    left, width = axis.x(float(start)), axis.x(float(end)) - axis.x(float(start))
    name = next((words for words in (f"{kind} {tile}", str(tile)) if 6.2 * len(words) + 4 < width), "")
    label = text(left + width / 2, top + 15, name, class_="num" if kind == "load" else "num on") if name else ""
    bar = _box("box" if kind == "load" else "used", left, top, width, _ROW)
    return element("g", bar + label, data_kind=kind, data_tile=tile, data_start=f"{start:g}", data_end=f"{end:g}")


def _threads(axis: _Axis, schedule: Schedule, top: float) -> str:
    """One thin strip: filled while the threads compute, hatched while they wait."""
    parts = []
    before = 0.0
    for start, end in zip(schedule.compute_start.tolist(), schedule.compute_end.tolist(), strict=True):
        if start > before:
            parts.append(_waiting(axis.x(before), axis.x(start), top))
        parts.append(_box("used", axis.x(start), top, axis.x(end) - axis.x(start), _STRIP))
        before = end
    return "".join(parts)


def _waiting(left: float, right: float, top: float) -> str:
    """A hatched stretch of time."""
    hatch, x = "", left
    while x < right:
        across = min(7.0, right - x)
        hatch += f"M{x:.1f} {top + _STRIP}l{across:.1f} {-_STRIP * across / 7:.1f}"
        x += 7
    return _box("unit", left, top, right - left, _STRIP) + element("path", d=hatch, class_="hatch")


def _box(class_: str, x: float, y: float, width: float, height: float) -> str:
    return element("rect", x=x, y=y, width=width, height=height, class_=class_)


def _computing(schedule: Schedule) -> float:
    return schedule.total_time - schedule.idle_time


@cache
def _legend() -> str:
    y = _LEGEND_Y
    load, compute, wait, off = _LEFT, 262, 456, 604
    hatch = element("path", d=f"M{wait} {y + 8}l8 -8M{wait} {y + 14}l14 -14M{wait + 7} {y + 14}l9 -9", class_="hatch")
    entries = (
        (load, _box("box", load, y, 16, 14), "a tile is being loaded"),
        (compute, _box("used", compute, y, 16, 14), "the threads compute it"),
        (wait, _box("unit", wait, y, 16, 14) + hatch, "the threads wait"),
        (off, _box("unmoved", off, y, 16, 14), "buffer not kept"),
    )
    return "".join(mark + text(x + 22, y + 11, words) for x, mark, words in entries)
