"""What is to be scored in a chapter: one `Task` for each test cell of its master notebook."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from autograder import hidden
from autograder.cells import Notebook, nbgrader_of, split
from autograder.settings import CourseError

__all__ = ["Task", "tasks_of"]


@dataclass(frozen=True)
class Task:
    """One question that is scored without a person.

    grade_id: test cell, whose points these are. answer_id: answer cell. check: name of the check, such as
    "coalescing/scale". variable: name of the student's dict, function or kernel. seed: of the hidden inputs, None
    where there are none. It is the only secret here. variant: row of numbers of a student's own question; a master has
    row 0.
    """

    grade_id: str
    answer_id: str
    check: str
    variable: str
    seed: int | None
    variant: int = 0


def tasks_of(master: Notebook, seed: Callable[[str], int] = hidden.seed) -> tuple[Task, ...]:
    """The tasks of a chapter, in the order of its notebook. `seed` gives the hidden seed of a check.

    Raises CourseError for a test cell that does not end with one `grade("chapter/name", variable)`, or that has no
    answer cell above it.
    """
    found: list[Task] = []
    answer_id = ""
    for cell in master.cells:
        meta = nbgrader_of(cell)
        if cell.cell_type != "code" or not meta.get("grade_id"):
            continue
        if meta.get("solution"):
            answer_id = meta["grade_id"]
        elif meta.get("grade"):
            if not answer_id:
                raise CourseError(f"test cell {meta['grade_id']!r} has no answer cell above it: add one")
            check, variable, named = _graded(cell.source, meta["grade_id"])
            hidden_seed = seed(check) if "seed" in named else None
            found.append(Task(meta["grade_id"], answer_id, check, variable, hidden_seed, named.get("variant", 0)))
    return tuple(found)


def _graded(source: str, grade_id: str) -> tuple[str, str, dict[str, Any]]:
    """Check, variable and keywords of the call that ends a test cell; the value of a keyword is None if no literal."""
    try:
        last = ast.parse(split(source).of("", "HIDDEN TESTS")).body[-1]
    except (SyntaxError, ValueError, IndexError):
        last = None
    match last:
        case ast.Expr(ast.Call(ast.Name("grade"), [ast.Constant(str(check)), ast.Name(variable)], keywords)):
            return check, variable, {str(k.arg): getattr(k.value, "value", None) for k in keywords}
    raise CourseError(
        f"the last line of test cell {grade_id!r} cannot be read: expected "
        'grade("chapter/name", variable), with seed=seed("chapter/name") where there are hidden inputs'
    )
