"""Worked answers, shown after an attempt: ``worked("coalescing/p1")``.

The text of a practice question is part of the course. The solution of a graded exercise is not: it is read from
source/ where the whole course lies beside the package, as it does for people who study alone.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from html import escape
from pathlib import Path

import course
from course.checks.progress import attempted
from course.checks.registry import find

__all__ = ["Worked", "worked"]

_BEGIN, _END = "### BEGIN SOLUTION", "### END SOLUTION"


@dataclass(frozen=True)
class Worked:
    """A text that shows itself: prose as Markdown, a program as code."""

    text: str
    is_code: bool = False

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return self.text

    def _repr_markdown_(self) -> str:
        return f"```python\n{self.text}\n```" if self.is_code else self.text

    def _repr_html_(self) -> str | None:
        return f"<pre>{escape(self.text)}</pre>" if self.is_code else None


def worked(name: str) -> Worked:
    """The worked answer of a task, once it was tried. Raises UnknownCheckError for a name that does not exist."""
    check = find(name)
    if not attempted(name):
        return Worked(f"Try it first: answer `{name}` and run its check. Then run this cell again.")
    if text := getattr(check, "worked", ""):
        return Worked(text)
    if solution := _solution(name):
        return Worked(solution, is_code=True)
    return Worked(f"`{name}` is graded. Its worked answer comes with your instructor's feedback.")


def _solution(name: str) -> str:
    """What stands between the solution marks in source/; '' where there is no source/."""
    chapter, _, task = name.partition("/")
    master = Path(course.__file__).parent.parent / "source" / chapter / f"{chapter}.ipynb"
    if not master.is_file():
        return ""
    for cell in json.loads(master.read_text(encoding="utf-8"))["cells"]:
        text = "".join(cell["source"])
        if cell["metadata"].get("nbgrader", {}).get("grade_id") == f"{task}-answer" and _BEGIN in text:
            return text.split(_BEGIN)[1].split(_END)[0].strip("\n")
    return ""
