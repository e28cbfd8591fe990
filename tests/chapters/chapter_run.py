"""The cells of an untouched chapter, run from top to bottom, so that tests can hold its text to what they give."""

from __future__ import annotations

import ast
import contextlib
import io
import linecache
import re
from typing import Any

import nbformat

from autograder.cells import nbgrader_of, split
from autograder.settings import ROOT

__all__ = ["SECTIONS", "Ran", "run_cell"]

SECTIONS = [
    "The question", "Predict, then reveal", "Explore", "Run it", "Fix it", "Quiz", "Does it hold on silicon?",
    "Go further", "What you can do now",
]  # fmt: skip
"""Of every chapter, in this order."""
_NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?!\w)")


def run_cell(name: str, text: str, space: dict[str, Any]) -> tuple[str, Any]:
    """What a cell prints, and the value of its last line; kernels find their own text."""
    filename = f"<cell {name}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    tree = ast.parse(text)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    out, value = io.StringIO(), None
    with contextlib.redirect_stdout(out):
        exec(compile(tree, filename, "exec"), space)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), filename, "eval"), space)
    return out.getvalue(), value


class Ran:
    """What each cell printed and what its last line gave, by the cell's id; test cells are left out."""

    def __init__(self, chapter: str) -> None:
        self.notebook = nbformat.read(ROOT / "source" / chapter / f"{chapter}.ipynb", as_version=4)
        self.space: dict[str, Any] = {"__name__": "chapter"}
        self.printed: dict[str, str] = {}
        self.value: dict[str, Any] = {}
        for cell in self.notebook.cells:
            if cell.cell_type == "code" and not nbgrader_of(cell).get("grade"):
                self.printed[cell.id], self.value[cell.id] = run_cell(cell.id, split(cell.source).visible, self.space)

    def lines(self, name: str) -> list[str]:
        """The printed lines of a cell."""
        return self.printed[name].splitlines()

    def numbers(self, name: str) -> list[list[float]]:
        """The numbers of each printed line."""
        return [[float(n) for n in _NUMBER.findall(line.replace(",", ""))] for line in self.lines(name)]

    def rows(self, name: str) -> list[list[float]]:
        """The numbers of each printed line but the heading."""
        return self.numbers(name)[1:]

    def text(self, name: str) -> str:
        """The source of a cell."""
        return next(str(cell.source) for cell in self.notebook.cells if cell.id == name)

    def prose(self, name: str) -> str:
        """The source of a cell on one line."""
        return " ".join(self.text(name).split())
