"""Write the whole report: pages, CSV files and exports, in a folder that changes all at once."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from autograder.report.csv_files import write_csv_files
from autograder.report.exports import write_canvas, write_moodle
from autograder.report.gather import gather
from autograder.report.pages import write_pages
from autograder.settings import Course
from autograder.writing import scratch

__all__ = ["RESULTS", "build_report"]

RESULTS = "results"
"""Name of the report's folder in `course.area`. Not "report": in autograder/ that is this package."""


def build_report(course: Course) -> Path:
    """Write the report of everything that is in the gradebook and the records; returns its index.html.

    A reader finds the old report or the new one, never half of one. Students' names and marks are in it: the folder
    can be read by its owner only.
    """
    area = course.root / course.area
    with scratch(area / f".{RESULTS}-new") as folder, _no_garbage_collection():
        fresh = folder / RESULTS
        fresh.mkdir(mode=0o700)
        report = gather(course)
        write_pages(report, fresh)
        write_csv_files(report, fresh)
        write_canvas(report, fresh / "canvas.csv")
        write_moodle(report, fresh / "moodle.csv")
        # Two renames: a folder cannot be replaced in one.
        if (area / RESULTS).exists():
            (area / RESULTS).rename(folder / "old")
        fresh.rename(area / RESULTS)
    return area / RESULTS / "index.html"


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """Hundreds of thousands of small rows, none in a cycle: searching them for garbage takes a third of the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
