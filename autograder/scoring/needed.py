"""What has to run so that an answer is there: its own cell, and of the cells before it only what that cell needs."""

from __future__ import annotations

import ast
import symtable
from collections.abc import Iterator, Sequence

from autograder.scoring.program import Binding, Place, Program

__all__ = ["needed"]


def needed(program: Program, answer: Binding) -> dict[str, list[str]]:
    """{"helpers": ..., "answer": ...}: texts of statements, in the order in which they have to run.

    Helpers are the imports, functions and values that the answer's cell names, and what these need in turn.
    """
    number = answer.place[0]
    own = program.statements(number)
    helpers: list[tuple[Place, ast.stmt]] = [((0, 0), star) for star in program.star_imports(number)]
    places: set[Place] = set()
    wanted, seen = _wanted(own), set[str]()
    while wanted:
        name = wanted.pop()
        seen.add(name)
        for found in _made_of(program, name, number):
            if isinstance(found.statement, (ast.Import, ast.ImportFrom)):
                helpers.append((found.place, _only(found.statement, name)))
            elif found.place not in places:
                places.add(found.place)
                helpers.append((found.place, found.statement))
                wanted |= _wanted([found.statement]) - seen
    helpers.sort(key=lambda helper: helper[0])
    return {"helpers": _texts([statement for _, statement in helpers]), "answer": _texts(own)}


def _made_of(program: Program, name: str, number: int) -> Iterator[Binding]:
    """The last binding of a name in the cells before one, and all that changes it after that."""
    for found in program.bindings(name, (number, 0)):
        yield found
        if not found.touched and not isinstance(found.statement, ast.AugAssign):
            return


def _wanted(statements: Sequence[ast.stmt]) -> set[str]:
    """Names that statements read and that are not there yet. A function reads its names when it is called."""
    wanted: set[str] = set()
    later: set[str] = set()
    there: set[str] = set()
    for text in _texts(statements):
        table = symtable.symtable(text, "<answer>", "exec")
        wanted |= {symbol.get_name() for symbol in table.get_symbols() if symbol.is_referenced()} - there
        later |= {name for inner in table.get_children() for name in _globals(inner)}
        there |= {symbol.get_name() for symbol in table.get_symbols() if symbol.is_assigned() or symbol.is_imported()}
    return wanted | (later - there)


def _globals(table: symtable.SymbolTable) -> Iterator[str]:
    yield from (symbol.get_name() for symbol in table.get_symbols() if symbol.is_global())
    for inner in table.get_children():
        yield from _globals(inner)


def _only(statement: ast.Import | ast.ImportFrom, name: str) -> ast.stmt:
    """An import without the names that nobody needs: some are slow to load."""
    kept = [alias for alias in statement.names if (alias.asname or alias.name.split(".")[0]) == name]
    if isinstance(statement, ast.ImportFrom):
        return ast.ImportFrom(statement.module, kept, statement.level)
    return ast.Import(kept)


def _texts(statements: Sequence[ast.stmt]) -> list[str]:
    return [ast.unparse(ast.fix_missing_locations(statement)) for statement in statements]
