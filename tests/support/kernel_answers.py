"""Answers to the kernel exercises: starter and reference from the master notebook, typical wrong ones as one edit."""

from __future__ import annotations

import ast
import itertools
import linecache
import re
from collections.abc import Callable
from typing import Any

import nbformat
import numpy as np

from autograder.cells import nbgrader_of, split
from autograder.settings import ROOT
from course import cuda
from course.checks import find
from tests.support.mistakes import WRONG

_numbers = itertools.count()


def cell(name: str) -> str:
    """Text of an exercise's answer cell in the master notebook."""
    chapter, task = name.split("/")
    notebook = nbformat.read(ROOT / "source" / chapter / f"{chapter}.ipynb", as_version=4)
    (found,) = (c.source for c in notebook.cells if nbgrader_of(c).get("grade_id") == f"{task}-answer")
    return found


def starter(name: str) -> str:
    """What a student gets."""
    return split(cell(name)).visible


def reference(name: str) -> str:
    """The solution: the last definition of the cell alone."""
    text = ast.unparse(ast.parse(split(cell(name)).answer).body[-1])
    # Python 3.10 writes `(a, b) = ...` where later ones write `a, b = ...`.
    return re.sub(r"^(\s*|.*\bfor )\(([\w, .\[\]]+)\)(?= = | in )", r"\1\2", text, flags=re.MULTILINE)


def wrong(name: str, mistake: str) -> str:
    """The reference with one edit."""
    before, after = WRONG[name][mistake].edit
    text = reference(name)
    assert text.count(before) == 1, f"{before!r} is not once in the reference of {name}:\n{text}"
    return text.replace(before, after)


def load(name: str, text: str) -> Callable[..., Any]:
    """The student's object that a cell with this text defines."""
    filename = f"<answer {next(_numbers)}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    space: dict[str, Any] = {"cuda": cuda, "np": np, "__name__": "answers"}
    exec(compile(text, filename, "exec"), space)
    check = find(name)
    made: Callable[..., Any] = space[getattr(check, "kernel", None) or check.function]
    return made
