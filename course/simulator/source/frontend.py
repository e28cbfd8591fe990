"""From a kernel to its checked syntax tree: where its text comes from, and what in it is not understood.

Everything that the simulator cannot run is refused here or while types are worked out, before the
first thread starts, with the construct and its line.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import linecache
import types
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from course.simulator.errors import UnsupportedKernel
from course.simulator.kernels import python_function

__all__ = ["Source", "fresh_stores", "read_source"]


@dataclass(frozen=True)
class Source:
    """Text and syntax tree of one function; line numbers are those of its file or cell."""

    function: types.FunctionType
    tree: ast.FunctionDef
    filename: str
    lines: tuple[str, ...]
    first_line: int

    @property
    def name(self) -> str:
        """Name of the function."""
        return self.tree.name

    @property
    def parameters(self) -> list[str]:
        """Names of the parameters, in order."""
        return [argument.arg for argument in self.tree.args.args]

    def text(self, node: ast.AST) -> str:
        """Source text of a node on one line."""
        return " ".join(ast.unparse(node).split())


def read_source(kernel: Any) -> Source:
    """Find, parse and check the text of a kernel or device function.

    Raises UnsupportedKernel when there is no text, when the text is no longer that of the running
    function, or when it holds a construct that cannot be simulated.
    """
    function = python_function(kernel)
    name, filename = function.__name__, function.__code__.co_filename
    linecache.checkcache(filename)
    # Functions made by exec have this file name; Python 3.13 would give the text of `python -c`, which has it too.
    lines = [] if filename == "<string>" else linecache.getlines(filename, function.__globals__)
    if not lines:
        raise UnsupportedKernel(
            f"the text of {name} cannot be found (it was made by exec or typed at a bare prompt). The simulator "
            "reads the source: write the kernel in a notebook cell or in a file."
        )
    if name == "<lambda>":
        raise UnsupportedKernel(f"{name} is no `def` function: write the kernel as `def name(...):`.")
    text = "".join(lines)
    candidates = _definitions(function, text)
    running = next((found for found in candidates if _compiles_to(function, text, *found)), None)
    if running is not None or candidates:
        source = _source(function, (running or candidates[0])[0], lines)
        _refuse_unsupported(source)
        if running is not None:
            return source
    raise UnsupportedKernel(
        f"the text of {name} has changed since it was loaded: run the cell (or import the file) again.",
        line=function.__code__.co_firstlineno,
        filename=filename,
    )


def _source(function: types.FunctionType, tree: ast.FunctionDef, lines: list[str]) -> Source:
    first_line = _first_line(tree)
    own = tuple(line.rstrip("\n") for line in lines[first_line - 1 : tree.end_lineno])
    return Source(function, tree, function.__code__.co_filename, own, first_line)


_Definition = tuple[ast.FunctionDef, ast.stmt]
"""A function in a file or cell, and the statement of the module that holds it."""


def _definitions(function: types.FunctionType, text: str) -> list[_Definition]:
    """Functions of this name in the text, first the one at the function's own line: the text may have been edited."""
    code = function.__code__
    found = (one for one in _parsed(text) if one[0].name == code.co_name)
    return sorted(found, key=lambda one: _first_line(one[0]) != code.co_firstlineno)


def _compiles_to(function: types.FunctionType, text: str, definition: ast.FunctionDef, statement: ast.stmt) -> bool:
    """Whether this definition is that of the function that is running."""
    running = _essence(function.__code__)
    return any(_essence(code) == running for code in _compiled(text, definition, statement, function.__code__))


@functools.lru_cache(maxsize=64)
def _parsed(text: str) -> tuple[_Definition, ...]:
    """Every function of a text."""
    with _no_warnings():
        try:
            module = ast.parse(text)
        except (SyntaxError, ValueError):
            return ()
    return tuple(
        (node, statement)
        for statement in module.body
        for node in ast.walk(statement)
        if isinstance(node, ast.FunctionDef)
    )


def _compiled(
    text: str, definition: ast.FunctionDef, statement: ast.stmt, running: types.CodeType
) -> Iterator[types.CodeType]:
    """What a definition compiles to: in the whole text, and in its statement alone, as notebooks run a cell.

    The two may differ: the compiler treats attributes of names that the same module imports in another way.
    """
    flags = running.co_flags & _FUTURE_FLAGS | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    for compiled, source in ((_text_code, text), (_code_of, ast.Module([statement], []))):
        for code in compiled(source, running.co_filename, flags):
            if code.co_name == definition.name and code.co_firstlineno == _first_line(definition):
                yield code


def _code_of(source: Any, filename: str, flags: int) -> tuple[types.CodeType, ...]:
    """Every piece of code in what a text or tree compiles to."""
    with _no_warnings():
        try:
            found = [compile(source, filename, "exec", flags=flags, dont_inherit=True)]
        except (SyntaxError, ValueError):
            return ()
    for code in found:  # grows while it is read
        found.extend(constant for constant in code.co_consts if isinstance(constant, types.CodeType))
    return tuple(found)


_text_code = functools.lru_cache(maxsize=64)(_code_of)
"""The same, remembered: a file may hold many kernels."""


_FUTURE_FLAGS = 0x1FF0000
"""`from __future__` switches of a function's file, among the flags of its code."""


def _first_line(definition: ast.FunctionDef) -> int:
    """Line of the first decorator, or of the `def`."""
    return min([definition.lineno, *(decorator.lineno for decorator in definition.decorator_list)])


def _essence(code: types.CodeType) -> tuple[Any, ...]:
    constants = repr([constant for constant in code.co_consts if not isinstance(constant, types.CodeType)])
    return code.co_names, code.co_varnames, code.co_freevars, constants, code.co_code


@contextlib.contextmanager
def _no_warnings() -> Iterator[None]:
    """Python has warned about the text already, when it ran it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


# What a kernel may hold. Everything else is refused by name.
_STATEMENTS = (
    ast.Assign, ast.AugAssign, ast.AnnAssign, ast.If, ast.For, ast.While, ast.Break, ast.Continue, ast.Return,
    ast.Expr, ast.Pass,
)  # fmt: skip
_EXPRESSIONS = (
    ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Call, ast.Attribute, ast.Subscript, ast.Slice,
    ast.Name, ast.Constant, ast.Tuple,
)  # fmt: skip
_NAMES: dict[type[ast.AST], str] = {
    ast.Try: "try/except",
    ast.With: "with",
    ast.Raise: "raise",
    ast.Assert: "assert",
    ast.Delete: "del",
    ast.Import: "import",
    ast.ImportFrom: "import",
    ast.FunctionDef: "a function inside the kernel",
    ast.ClassDef: "class",
    ast.Lambda: "lambda",
    ast.List: "a list",
    ast.Dict: "a dict",
    ast.Set: "a set",
    ast.ListComp: "a list comprehension",
    ast.GeneratorExp: "a generator expression",
    ast.DictComp: "a dict comprehension",
    ast.SetComp: "a set comprehension",
    ast.JoinedStr: "an f-string",
    ast.Starred: "* unpacking",
    ast.NamedExpr: ":=",
    ast.Yield: "yield",
    ast.Global: "global",
    ast.Nonlocal: "nonlocal",
}


def _refuse_unsupported(source: Source) -> None:
    arguments = source.tree.args
    if arguments.vararg or arguments.kwarg or arguments.kwonlyargs or arguments.posonlyargs:
        raise UnsupportedKernel(
            "*args, **kwargs, `*` and `/` in the parameters are not supported: name every parameter.",
            line=source.tree.lineno,
            kernel=source.name,
            filename=source.filename,
        )
    for node in _nodes(source.tree.body):
        if isinstance(node, (ast.stmt, ast.expr)) and not isinstance(node, _STATEMENTS + _EXPRESSIONS):
            what = _NAMES.get(type(node), type(node).__name__)
            raise UnsupportedKernel(
                f"{what} is not supported in a kernel: {_shortened(source.text(node))}",
                line=node.lineno,
                kernel=source.name,
                filename=source.filename,
            )
        if isinstance(node, (ast.For, ast.While)) and node.orelse:
            raise UnsupportedKernel(
                "`else` of a loop is not supported: use a flag variable.",
                line=node.orelse[0].lineno,
                kernel=source.name,
                filename=source.filename,
            )


def _nodes(body: list[ast.stmt]) -> Iterator[ast.AST]:
    """All nodes, outermost first, without annotations (they do nothing)."""
    for statement in body:
        stack: list[ast.AST] = [statement]
        while stack:
            node = stack.pop()
            yield node
            children = list(ast.iter_child_nodes(node))
            if isinstance(node, ast.AnnAssign):
                children.remove(node.annotation)
            stack.extend(reversed(children))


def _shortened(text: str, width: int = 60) -> str:
    return text if len(text) <= width else text[: width - 3] + "..."


def fresh_stores(tree: ast.FunctionDef) -> set[ast.AST]:
    """Assignments whose variable holds nothing that any thread still needs.

    A variable that is used only inside one statement list, and is assigned there first, starts anew
    each time: the lanes that skip the assignment never read it. Such a store needs no merge with
    the old value. Returns the target Name nodes.
    """
    total: dict[str, int] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            total[node.id] = total.get(node.id, 0) + 1
    parameters = {argument.arg for argument in tree.args.args}
    fresh: set[ast.AST] = set()

    def visit(body: list[ast.stmt]) -> dict[str, int]:
        inside: dict[str, int] = {}
        first: dict[str, ast.Name | None] = {}
        for statement in body:
            counts: dict[str, int] = {}
            targets = _plain_targets(statement)
            if isinstance(statement, ast.For):
                counts = _counts(statement.iter)
                own = visit(statement.body)
                for target in _names_of(statement.target):
                    uses = own.get(target.id, 0) + 1
                    if uses == total[target.id] and target.id not in parameters:
                        fresh.add(target)
                    own[target.id] = uses
                _add(counts, own)
            elif isinstance(statement, ast.While):
                counts = _counts(statement.test)
                _add(counts, visit(statement.body))
            elif isinstance(statement, ast.If):
                counts = _counts(statement.test)
                _add(counts, visit(statement.body))
                _add(counts, visit(statement.orelse))
            else:
                counts = _counts(statement)
            for name in counts:
                if name not in first:
                    target_node = next((node for node in targets if node.id == name), None)
                    alone = target_node is not None and counts[name] == 1
                    first[name] = target_node if alone else None
            _add(inside, counts)
        for name, node in first.items():
            if node is not None and inside[name] == total[name] and name not in parameters:
                fresh.add(node)
        return inside

    visit(tree.body)
    return fresh


def _plain_targets(statement: ast.stmt) -> list[ast.Name]:
    if isinstance(statement, ast.Assign):
        return [name for target in statement.targets for name in _names_of(target)]
    if isinstance(statement, ast.AnnAssign) and statement.value is not None:
        return _names_of(statement.target)
    return []


def _names_of(target: ast.expr) -> list[ast.Name]:
    if isinstance(target, ast.Name):
        return [target]
    if isinstance(target, ast.Tuple):
        return [name for element in target.elts for name in _names_of(element)]
    return []


def _counts(node: ast.AST) -> dict[str, int]:
    counts: dict[str, int] = {}
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name):
            counts[inner.id] = counts.get(inner.id, 0) + 1
    return counts


def _add(into: dict[str, int], counts: dict[str, int]) -> None:
    for name, count in counts.items():
        into[name] = into.get(name, 0) + count
