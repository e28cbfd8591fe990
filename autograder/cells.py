"""How a master notebook marks its graded cells: nbgrader's metadata, and the blocks that students never get."""

from __future__ import annotations

import ast
import difflib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat

from autograder.settings import CourseError

__all__ = ["Split", "cell_problems", "defined_names", "grade_ids", "nbgrader_of", "read_notebook", "split"]

SOLUTION, HIDDEN = "SOLUTION", "HIDDEN TESTS"
MARKERS = tuple(f"### {edge} {kind}" for kind in (SOLUTION, HIDDEN) for edge in ("BEGIN", "END"))

Notebook = Any
"""An nbformat NotebookNode (the library is untyped)."""


@dataclass(frozen=True)
class Split:
    """The lines of one cell, each with the block it stands in ("" outside every block); markers are left out."""

    lines: tuple[tuple[str, str], ...]

    def of(self, *blocks: str) -> str:
        """The lines of these blocks, in order."""
        return "\n".join(line for block, line in self.lines if block in blocks)

    @property
    def visible(self) -> str:
        """What stands outside every block, which students see."""
        return self.of("")

    @property
    def solution(self) -> str:
        """What stands in SOLUTION blocks."""
        return self.of(SOLUTION)

    @property
    def hidden(self) -> str:
        """What stands in HIDDEN TESTS blocks."""
        return self.of(HIDDEN)

    @property
    def answer(self) -> str:
        """The cell with its solution, without the markers: what a perfect student hands in."""
        return self.of("", SOLUTION)


def read_notebook(path: Path) -> Notebook:
    """The notebook in `path`, as nbformat version 4. Raises CourseError when it is not a notebook."""
    try:
        return nbformat.read(path, as_version=4)
    except (OSError, UnicodeDecodeError, nbformat.reader.NotJSONError, nbformat.ValidationError) as error:
        raise CourseError(f"{path} cannot be read as a notebook: {error}") from error


def nbgrader_of(cell: Notebook) -> dict[str, Any]:
    """nbgrader's metadata of a cell; empty for a cell that nbgrader does not know."""
    return dict(cell.metadata.get("nbgrader", {}))


def grade_ids(notebook: Notebook) -> dict[str, float | None]:
    """grade_id -> points of every nbgrader cell, in order; None for a cell that carries no points."""
    known = [nbgrader_of(cell) for cell in notebook.cells if nbgrader_of(cell).get("grade_id")]
    return {meta["grade_id"]: (float(meta["points"]) if meta.get("grade") else None) for meta in known}


def split(source: str) -> Split:
    """Take a cell's text apart at its markers. Raises ValueError when they do not pair up."""
    lines: list[tuple[str, str]] = []
    inside = ""
    for line in source.split("\n"):
        text = line.strip()
        if text not in MARKERS:
            lines.append((inside, line))
            continue
        edge, kind = text.split(maxsplit=2)[1:]
        if edge == "BEGIN" and inside:
            raise ValueError(f"'{text}' inside a {inside} block: close that block first")
        if edge == "END" and inside != kind:
            raise ValueError(f"'{text}' without '### BEGIN {kind}' before it")
        inside = kind if edge == "BEGIN" else ""
    if inside:
        raise ValueError(f"'### BEGIN {inside}' is never closed: add '### END {inside}'")
    return Split(tuple(lines))


def cell_problems(cell: Notebook) -> list[str]:
    """What is wrong with the markers and the nbgrader metadata of one cell of a master notebook."""
    found = [
        f"misspelt marker {line.strip()!r}: expected one of {', '.join(map(repr, MARKERS))}"
        for line in cell.source.split("\n")
        if _is_misspelt_marker(line, code=cell.cell_type == "code")
    ]
    try:
        parts = split(cell.source)
    except ValueError as error:
        return [*found, str(error)]
    meta = nbgrader_of(cell)
    graded, answer = bool(meta.get("grade")), bool(meta.get("solution"))
    if (parts.solution or parts.hidden) and cell.cell_type != "code":
        found.append("a marked block in a text cell: blocks belong into code cells")
    elif parts.solution and not answer:
        found.append("a SOLUTION block in a cell that is no answer cell: set nbgrader's `solution` to true")
    elif parts.hidden and not (graded and not answer):
        found.append("a HIDDEN TESTS block in a cell that is no test cell: set `grade` true and `solution` false")
    if cell.cell_type == "code":
        found += _code_cell_problems(parts, graded=graded, answer=answer)
    return found


def _code_cell_problems(parts: Split, *, graded: bool, answer: bool) -> list[str]:
    if answer and not parts.solution:
        return ["an answer cell without a SOLUTION block: nbgrader would empty the whole cell"]
    if answer:
        missing = defined_names(parts.answer) - defined_names(parts.visible)
        if missing:
            names = ", ".join(sorted(missing))
            return [
                f"a student would get no {names}: write a placeholder above the SOLUTION block, "
                "such as `q1 = dict(sectors=None)` or a `def` with its docstring"
            ]
    if graded and not answer and not _ends_with_grade(parts):
        return ["a test cell whose last line is not `grade(...)`: only that gives points"]
    return []


def defined_names(source: str) -> set[str]:
    """Names that the top level of some Python assigns or defines; empty when it is not plain Python."""
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return set()
    names: set[str] = set()
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names |= {n.id for target in targets for n in ast.walk(target) if isinstance(n, ast.Name)}
    return names


def _ends_with_grade(parts: Split) -> bool:
    """Whether the value of the cell is one call of `grade`: anything else could give full marks by accident."""
    try:
        body = ast.parse(parts.of("", HIDDEN)).body
    except SyntaxError:
        return False
    last = body[-1].value if body and isinstance(body[-1], ast.Expr) else None
    return isinstance(last, ast.Call) and isinstance(last.func, ast.Name) and last.func.id == "grade"


def _is_misspelt_marker(line: str, *, code: bool) -> bool:
    """Whether a line means to be a marker but is not one: nbgrader would ship the block that it opens."""
    text = line.strip()
    if text in MARKERS:
        return False
    if any(marker.strip("# ") in text for marker in MARKERS):
        return True
    if not (code and text.startswith("#")):
        return False
    words = re.findall(r"[a-z]+", text.lower())
    if not 2 <= len(words) <= 5 or not difflib.get_close_matches(words[0], ["begin", "end", "start", "stop"], 1, 0.75):
        return False
    kinds = ["solution", "solutions", "hidden", "test", "tests", "mark", "scheme"]
    return any(difflib.get_close_matches(word, kinds, 1, 0.75) for word in words[1:])
