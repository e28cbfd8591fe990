"""The report as pages without scripts: one for the class, one for each chapter. All text is escaped by Jinja."""

from __future__ import annotations

import math
from pathlib import Path
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from autograder.report.gather import ChapterReport, ClassReport
from autograder.report.plots import distribution, questions
from autograder.report.statistics import BINS
from autograder.report.terminal import points_text

__all__ = ["write_pages"]

TEMPLATES = Path(__file__).parent / "templates"
MOST_ON_INDEX = 100
"""Rows of one list on the class's page; chapter pages and CSV files hold all."""


def write_pages(report: ClassReport, folder: Path) -> None:
    """index.html and <chapter>.html."""
    loader = FileSystemLoader(TEMPLATES)
    pages = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    pages.filters |= {"points": _points, "percent": _percent, "lateness": _lateness}
    pages.globals |= {"page_of": lambda chapter: f"{quote(chapter)}.html", "bins": _bins, "name": report.name}
    pictures = {c.name: Markup(distribution(c.name, c.statistics)) for c in report.chapters}
    index = pages.get_template("index.html")
    _write(folder / "index.html", index.render(report=report, pictures=pictures, most=MOST_ON_INDEX))
    page = pages.get_template("chapter.html")
    for chapter in report.chapters:
        hard = Markup(questions(chapter.name, chapter.statistics))
        text = page.render(
            report=report, chapter=chapter, rows=_rows(chapter), spread=pictures[chapter.name], hard=hard
        )
        _write(folder / f"{chapter.name}.html", text)


def _write(file: Path, text: str) -> None:
    # A name that came from a folder may hold bytes that are no UTF-8.
    file.write_text(text, encoding="utf-8", errors="backslashreplace")


def _rows(chapter: ChapterReport) -> list[tuple[str, Markup, str]]:
    """(student, cells of points by question and in all, what else there is to know) of everybody who was graded."""
    names = list(chapter.points)
    flagged = {flag.student for flag in chapter.flags}
    repaired = {student for student, _ in chapter.repairs}
    rows = []
    for row in chapter.rows:
        notes = [f"{len(row.waiting)} to read"] if row.waiting else []
        notes += ["flag"] if row.student in flagged else []
        notes += ["repaired"] if row.student in repaired else []
        notes += [f"late {_lateness(row.seconds_late)}, −{_points(row.penalty)}"] if row.seconds_late else []
        cells = [points_text(row, name) for name in names]
        # Numbers only, so they go into the page as they are: escaping each of them takes longer than all the rest.
        rows.append((row.student, Markup("<td>" + "<td>".join([*cells, _points(row.total)])), ", ".join(notes)))
    return rows


def _points(value: float | None) -> str:
    return "–" if value is None or math.isnan(value) else f"{value:.4g}"


def _percent(share: float) -> str:
    return "–" if math.isnan(share) else f"{100 * share:.0f} %"


def _lateness(seconds: float) -> str:
    if seconds < 3600:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 48 * 3600 else f"{seconds / 86400:.1f} days"


def _bins() -> list[str]:
    return [f"{100 * k // BINS}–{100 * (k + 1) // BINS} %" for k in range(BINS)]
