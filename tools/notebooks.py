"""Check that the master notebooks in source/ have their canonical form, or give it to them with --fix.

One form for everybody keeps differences readable and releases reproducible: no outputs, no traces of
an editor or of this machine, ids that stay, nbgrader marks that nbgrader understands.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from pathlib import Path
from typing import Any

import nbformat

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from autograder.cells import Notebook, nbgrader_of, read_notebook  # noqa: E402
from autograder.release import source_problems  # noqa: E402
from autograder.settings import Course, CourseError  # noqa: E402

KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
METADATA = {"kernelspec": KERNEL, "language_info": {"name": "python"}}
CELL_METADATA = ("jupyter", "nbgrader", "tags")
"""What may stand in a cell's metadata; the rest is left behind by editors."""
NBGRADER_METADATA = ("grade", "grade_id", "locked", "points", "schema_version", "solution", "task")
"""What nbgrader needs in a master; it adds checksums and cell types to a release by itself."""


def canonical(notebook: Notebook) -> str:
    """The canonical text of a notebook: nbformat 4.5, sorted keys, indent 1, newline at the end."""
    cells = []
    taken = {cell.id for cell in notebook.cells if cell.get("id")}
    seen: set[str] = set()
    for cell in notebook.cells:
        identifier = cell.get("id")
        if not identifier or identifier in seen:
            identifier = _new_id(cell, taken | seen)
        seen.add(identifier)
        cells.append(_canonical_cell(cell, identifier))
    fresh = nbformat.v4.new_notebook(cells=cells, metadata=METADATA)
    fresh.nbformat_minor = 5
    return str(nbformat.writes(fresh)).rstrip("\n") + "\n"


def _canonical_cell(cell: Notebook, identifier: str) -> Notebook:
    metadata: dict[str, Any] = {key: cell.metadata[key] for key in CELL_METADATA if cell.metadata.get(key)}
    marks = nbgrader_of(cell)
    if any(marks.get(key) for key in ("grade", "locked", "solution", "task")):
        metadata["nbgrader"] = {key: marks[key] for key in NBGRADER_METADATA if key in marks}
    else:
        metadata.pop("nbgrader", None)
    fields: dict[str, Any] = {"id": identifier, "metadata": metadata, "source": cell.source}
    if cell.cell_type == "code":
        return nbformat.v4.new_code_cell(**fields)
    if cell.get("attachments"):
        fields["attachments"] = cell.attachments
    new = nbformat.v4.new_markdown_cell if cell.cell_type == "markdown" else nbformat.v4.new_raw_cell
    return new(**fields)


def _new_id(cell: Notebook, taken: set[str]) -> str:
    """An id for a cell without one: its grade_id, or something that follows from its text."""
    text = hashlib.sha256(cell.source.encode()).hexdigest()
    candidates = [nbgrader_of(cell).get("grade_id"), *(f"{cell.cell_type}-{text[n : n + 8]}" for n in range(56))]
    return next(name for name in candidates if name and name not in taken)


def check(course: Course, *, fix: bool) -> list[str]:
    """What is wrong with the notebooks of source/, after fixing what can be fixed if asked to."""
    found: list[str] = []
    for chapter in course.chapters():
        path = course.notebook(chapter)
        text, wanted = path.read_text(encoding="utf-8"), canonical(read_notebook(path))
        where = path.relative_to(course.root)
        if text != wanted and fix:
            path.write_text(wanted, encoding="utf-8", newline="\n")
            print(f"fixed {where}")
        elif text != wanted:
            line = _first_difference(text, wanted)
            found.append(f"{where}:{line}: not in canonical form; run: python tools/notebooks.py --fix")
    return found + source_problems(course)


def _first_difference(text: str, wanted: str) -> int:
    lines, others = text.split("\n"), wanted.split("\n")
    pairs = zip(lines, others, strict=False)
    return next((n for n, (line, other) in enumerate(pairs, start=1) if line != other), min(len(lines), len(others)))


def main() -> int:
    """Exit code 0 when every notebook has its canonical form, else 1."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fix", action="store_true", help="rewrite notebooks into canonical form")
    try:
        found = check(Course(ROOT), fix=parser.parse_args().fix)
    except CourseError as error:
        found = [str(error)]
    for problem in found:
        print(problem, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
