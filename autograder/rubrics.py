"""What a person needs to mark the written answers: question, model answer and points, one page for each chapter.

All of it comes from the masters. nbgrader takes the text of a written task out of the release, so formgrader shows
the student's answer only; the page lies beside it in a second window.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Template
from markupsafe import Markup
from nbconvert.filters import markdown2html

from autograder.cells import Notebook, nbgrader_of, read_notebook
from autograder.settings import Course
from autograder.variants import read_secret, varying

__all__ = ["Line", "Rubric", "rubric_problems", "rubrics", "rubrics_folder", "write_rubrics"]

LINE = re.compile(r"^- \((\d+(?:\.\d+)?) points?\) ", re.MULTILINE)
ADVICE = re.compile(r"^ +- (Half|Nothing): \S", re.MULTILINE)
PAGE = Template(
    """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Rubric: {{ chapter }}</title>
<style>
:root { color-scheme: light dark }
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 50rem; margin: 2rem auto; padding: 0 1rem }
section { border-top: 1px solid; margin-top: 2rem }
</style>
</head>
<body>
<h1>Rubric: {{ chapter }}</h1>
<p>Not for students. Give the points of each line; "half" is half of its line. Judge the reason, not the wording.
Other right reasons count as well. A contradiction in an answer takes back the line that it concerns.</p>
{% if own_numbers %}
<p>Students have numbers of their own in some questions. The model answers here use the published numbers; the
reasons and the points are the same.</p>
{% endif %}
{% for rubric in rubrics %}
<section>
<h2><code>{{ rubric.grade_id }}</code>, {{ "%g" | format(rubric.points) }} points</h2>
{{ html(rubric.question) }}
{{ html(rubric.text) }}
</section>
{% endfor %}
</body>
</html>
""",
    autoescape=True,
)


@dataclass(frozen=True)
class Line:
    """One line of a rubric: what earns its points, and what earns half of them or nothing."""

    points: float
    text: str

    @property
    def advice(self) -> frozenset[str]:
        """The kinds of partial credit that it explains: "Half", "Nothing"."""
        return frozenset(ADVICE.findall(self.text))


@dataclass(frozen=True)
class Rubric:
    """A written task as its marker needs it."""

    grade_id: str
    points: float
    question: str
    """The text above the answer, as Markdown."""
    text: str
    """The master's cell: model answer, then lines with points, as Markdown."""

    @property
    def lines(self) -> tuple[Line, ...]:
        """The lines with points."""
        starts = [found.start() for found in LINE.finditer(self.text)]
        texts = [self.text[start:end] for start, end in zip(starts, [*starts[1:], None], strict=True)] if starts else []
        return tuple(Line(float(LINE.findall(text)[0]), text) for text in texts)


def rubrics_folder(course: Course) -> Path:
    """Where the pages are written: <chapter>.html. They hold model answers: not for students."""
    return course.root / course.area / "rubrics"


def rubrics(course: Course, chapter: str) -> list[Rubric]:
    """The written tasks of a chapter, in order. Raises CourseError when its master cannot be read."""
    found, question = [], ""
    for cell in read_notebook(course.notebook(chapter)).cells:
        meta = nbgrader_of(cell)
        if _is_written(cell):
            found.append(Rubric(meta["grade_id"], float(meta["points"]), question, cell.source))
        elif cell.cell_type == "markdown":
            question = cell.source
    return found


def rubric_problems(course: Course) -> Iterator[str]:
    """Rubrics that nobody can mark with: points that do not add up, lines that do not say what partial credit is."""
    for chapter in course.chapters():
        for rubric in rubrics(course, chapter):
            where, total = f"{chapter}, {rubric.grade_id}", sum(line.points for line in rubric.lines)
            if total != rubric.points:
                yield (
                    f"{where}: its lines give {total:g} points, the cell gives {rubric.points:g}: every line with "
                    "points begins like '- (1 point) '"
                )
            for line in rubric.lines:
                if missing := {"Half", "Nothing"} - line.advice:
                    yield f"{where}: no line '- {min(missing)}: ...' under {line.text.splitlines()[0]!r}"


def write_rubrics(course: Course) -> list[Path]:
    """Write a page for each chapter with written tasks. Returns the pages."""
    folder, own = rubrics_folder(course), read_secret(course) is not None
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for chapter in course.chapters():
        if found := rubrics(course, chapter):
            page = PAGE.render(chapter=chapter, rubrics=found, own_numbers=own and bool(varying(chapter)), html=_html)
            path = folder / f"{chapter}.html"
            path.write_text(page, encoding="utf-8")
            written.append(path)
    return written


def _is_written(cell: Notebook) -> bool:
    meta = nbgrader_of(cell)
    return cell.cell_type == "markdown" and bool(meta.get("solution")) and bool(meta.get("grade"))


def _html(markdown: str) -> Markup:
    """The masters are the instructor's own text, so what they say is taken as it is."""
    return Markup(markdown2html(markdown))
