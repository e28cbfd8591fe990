"""A notebook's code as text: what its top level binds to a name, without running anything.

Cells are read in their order, up to the test cell, as a kernel would run them. A cell that is no valid Python binds
nothing. The last binding of a name counts, as in Python.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

__all__ = ["Binding", "Cell", "Place", "Program"]

MOST_CHARACTERS = 200_000
"""Of a cell. No answer comes near; Python takes long to parse what is much longer."""
_HARMLESS_MAGIC = re.compile(r"\A(\s*\n)*%%(time|capture|prun)\b.*")
"""Cell magics of IPython after which the cell is still run as Python."""
_MAGIC_LINE = re.compile(r"^([ \t]*)([%!?].*|\?*[\w.]+\?{1,2}[ \t]*)$", re.MULTILINE)
_CHANGING = frozenset(
    ("add", "append", "clear", "difference_update", "discard", "extend", "insert", "intersection_update", "pop",
     "popitem", "remove", "reverse", "setdefault", "sort", "symmetric_difference_update", "update")
)  # fmt: skip
"""Methods that change a list, set or dict in place."""

Place = tuple[int, int]
"""Number of the cell, and of the statement in it."""


@dataclass(frozen=True)
class Binding:
    """What a name stands for after a statement.

    value: the expression, after a plain assignment; None after anything else (a loop, `+=`, unpacking ...).
    path: "numpy" or "math.ceil", after an import. touched: the statement does not bind the name, it changes what the
    name stands for, as in `q1["lines"] = 8`.
    """

    place: Place
    statement: ast.stmt
    value: ast.expr | None = None
    path: str = ""
    touched: bool = False

    @property
    def function(self) -> ast.FunctionDef | None:
        """The function, after a `def`."""
        return self.statement if isinstance(self.statement, ast.FunctionDef) and not self.touched else None


@dataclass(frozen=True)
class Cell:
    """A code cell. grade_id: nbgrader's name of it, "" where it has none."""

    grade_id: str
    source: str

    @cached_property
    def text(self) -> str:
        """The source with IPython's own lines emptied, so that line numbers stay."""
        text = _HARMLESS_MAGIC.sub(lambda match: "\n" * match[0].count("\n"), self.source)
        return _MAGIC_LINE.sub(r"\1pass", text)

    @cached_property
    def parsed(self) -> tuple[tuple[ast.stmt, ...], str]:
        """The statements, and "" or why there are none."""
        if len(self.source) > MOST_CHARACTERS:
            return (), f"the cell is too long: {len(self.source)} characters, at most {MOST_CHARACTERS} are read"
        for text in (self.source, self.text):
            try:
                return tuple(ast.parse(text).body), ""
            except SyntaxError as error:
                problem = f"the cell is no valid Python (line {error.lineno}: {error.msg})"
            except (ValueError, RecursionError, MemoryError) as error:
                problem = f"the cell is no valid Python ({type(error).__name__})"
        return (), problem


class Program:
    """The code cells of a notebook up to a test cell."""

    def __init__(self, cells: Sequence[Cell], grade_id: str, answer_id: str) -> None:
        """`grade_id` names the test cell; without it all cells count. `answer_id` names the answer cell."""
        names = [cell.grade_id for cell in cells]
        self.cells = tuple(cells[: names.index(grade_id)] if grade_id in names else cells)
        self.answer = next((n for n, cell in enumerate(self.cells) if cell.grade_id == answer_id), None)
        self._bound: dict[int, list[dict[str, Binding]]] = {}

    @property
    def problem(self) -> str:
        """Why the answer cell cannot be read; "" when it can."""
        return "there is no answer cell" if self.answer is None else self.cells[self.answer].parsed[1]

    def binding(self, name: str, before: Place | None = None) -> Binding | None:
        """The last binding of a name, or the last one before a statement; None where there is none."""
        touched: Binding | None = None
        for found in self.bindings(name, before):
            if not found.touched:
                whole = found.path or found.function is not None
                return found if touched is None or whole else touched
            touched = touched or found
        return touched

    def statements(self, number: int) -> tuple[ast.stmt, ...]:
        """The statements of a cell."""
        return self.cells[number].parsed[0]

    def star_imports(self, before: int) -> list[ast.stmt]:
        """`from x import *` in the cells before one."""
        return [
            statement
            for number in range(before)
            if "*" in self.cells[number].source
            for statement in self.statements(number)
            if isinstance(statement, ast.ImportFrom) and statement.names[0].name == "*"
        ]

    def bindings(self, name: str, before: Place | None) -> Iterator[Binding]:
        """All bindings of a name, or those before a statement, last one first."""
        for number in reversed(range(len(self.cells))):
            if (before is not None and number > before[0]) or name not in self.cells[number].source:
                continue
            if number not in self._bound:
                self._bound[number] = [_bound(node, (number, n)) for n, node in enumerate(self.statements(number))]
            for found in reversed(self._bound[number]):
                if name in found and (before is None or found[name].place < before):
                    yield found[name]


def _bound(statement: ast.stmt, place: Place) -> dict[str, Binding]:
    """Name -> binding, for all names that a statement binds or changes."""
    found: dict[str, Binding] = {}
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return {statement.name: Binding(place, statement)}
    for node in ast.walk(statement):
        for name in _changed(node):
            found.setdefault(name, Binding(place, statement, touched=True))
    for node in ast.walk(statement):
        for name in _stored(node):
            found[name] = Binding(place, statement)
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        found = {name: Binding(place, statement, path=path) for name, path in _imported(statement)}
    elif isinstance(statement, (ast.Assign, ast.AnnAssign)) and statement.value is not None:
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        for target in targets:
            for name, value in _paired(target, statement.value):
                found[name] = Binding(place, statement, value)
    return found


def _paired(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    """The names of a target, each with its own expression: `a = 1`, and `a, b = 1, 2`."""
    if isinstance(target, ast.Name):
        yield target.id, value
    elif isinstance(target, (ast.Tuple, ast.List)) and isinstance(value, (ast.Tuple, ast.List)):
        starred = any(isinstance(node, ast.Starred) for node in (*target.elts, *value.elts))
        if not starred and len(target.elts) == len(value.elts):
            for one, its in zip(target.elts, value.elts, strict=True):
                yield from _paired(one, its)


def _imported(statement: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, str]]:
    for alias in statement.names:
        if isinstance(statement, ast.ImportFrom):
            yield alias.asname or alias.name, f"{'.' * statement.level}{statement.module or ''}.{alias.name}"
        elif alias.asname:
            yield alias.asname, alias.name
        else:
            yield alias.name.split(".")[0], alias.name.split(".")[0]


def _stored(node: ast.AST) -> Iterator[str]:
    """Names that a node binds or deletes, at any depth of a statement."""
    if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
        yield node.id
    elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        yield node.name
    elif isinstance(node, (ast.Import, ast.ImportFrom)):
        yield from (name for name, _ in _imported(node))
    elif (isinstance(node, ast.ExceptHandler) and node.name) or (
        isinstance(node, (ast.MatchAs, ast.MatchStar)) and node.name
    ):
        yield node.name
    elif isinstance(node, ast.MatchMapping) and node.rest:
        yield node.rest


def _changed(node: ast.AST) -> Iterator[str]:
    """Names whose value a node changes in place."""
    base: ast.expr | None = None
    if isinstance(node, (ast.Subscript, ast.Attribute)) and not isinstance(node.ctx, ast.Load):
        base = node.value
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _CHANGING:
        base = node.func.value
    while isinstance(base, (ast.Subscript, ast.Attribute)):
        base = base.value
    if isinstance(base, ast.Name):
        yield base.id
