"""From a kernel to its checked syntax tree: where its text comes from, and what in it is not understood.

Everything that the simulator cannot run is refused here or while types are worked out, before the
first thread starts, with the construct and its line.
"""

from __future__ import annotations

import ast
import inspect
import linecache
import textwrap
import types
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
    indent: int
    """Columns taken off every line before parsing."""

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
    name = function.__name__
    linecache.checkcache(function.__code__.co_filename)
    try:
        if function.__code__.co_filename == "<string>":
            # Made by exec. Python 3.13 would give the text of `python -c`, which has that file name too.
            raise OSError("no text")
        raw, first_line = inspect.getsourcelines(function)
    except (OSError, TypeError):
        raise UnsupportedKernel(
            f"the text of {name} cannot be found (it was made by exec or typed at a bare prompt). The simulator "
            "reads the source: write the kernel in a notebook cell or in a file."
        ) from None
    first_line = max(first_line, 1)
    dedented = textwrap.dedent("".join(raw))
    indent = len(raw[0].rstrip("\n")) - len(dedented.split("\n", 1)[0])
    try:
        module = ast.parse(dedented)
    except SyntaxError:
        module = ast.Module([], [])
    tree = next((node for node in module.body if isinstance(node, ast.FunctionDef)), None)
    if tree is None:
        raise UnsupportedKernel(f"{name} is no `def` function: write the kernel as `def {name}(...):`.")
    ast.increment_lineno(module, first_line - 1)
    lines = tuple(line.rstrip("\n") for line in raw)
    source = Source(function, tree, function.__code__.co_filename, lines, first_line, indent)
    _refuse_unsupported(source)
    if not _same_code(tree, function):
        raise UnsupportedKernel(
            f"the text of {name} has changed since it was loaded: run the cell (or import the file) again.",
            line=tree.lineno,
        )
    return source


def _same_code(tree: ast.FunctionDef, function: types.FunctionType) -> bool:
    """Whether this text compiles to the function that is running (a file may have been edited meanwhile)."""
    free = function.__code__.co_freevars
    bare = ast.FunctionDef(**{field: getattr(tree, field) for field in tree._fields if hasattr(tree, field)})
    bare.decorator_list, bare.returns = [], None
    ast.copy_location(bare, tree)
    wrapped: ast.stmt = bare
    if free:
        assigned = [ast.Assign([ast.Name(name, ast.Store())], ast.Constant(0)) for name in free]
        empty = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
        wrapped = ast.FunctionDef("_closure", empty, [*assigned, bare], [], **_type_params())
    flags = function.__code__.co_flags & 0x1FF0000  # `from __future__` switches of the function's file
    used = [name for name in function.__code__.co_names if name in function.__globals__]
    modules = [name for name in used if isinstance(function.__globals__[name], types.ModuleType)]
    running = function.__code__
    # The compiler treats attributes of names that the same file imports differently: try each case.
    for imported in ([], modules, used):
        imports: list[ast.stmt] = [ast.Import([ast.alias(name)]) for name in imported]
        module = ast.fix_missing_locations(ast.Module([*imports, wrapped], []))
        code = compile(module, running.co_filename, "exec", flags=flags, dont_inherit=True)
        found = _find_code(code, tree.name)
        if found is not None and _essence(found) == _essence(running):
            return True
    return False


def _essence(code: types.CodeType) -> tuple[Any, ...]:
    constants = repr([constant for constant in code.co_consts if not isinstance(constant, types.CodeType)])
    return code.co_names, code.co_varnames, constants, code.co_code


def _type_params() -> dict[str, Any]:
    return {"type_params": []} if "type_params" in ast.FunctionDef._fields else {}


def _find_code(code: types.CodeType, name: str) -> types.CodeType | None:
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found = constant if constant.co_name == name else _find_code(constant, name)
            if found is not None:
                return found
    return None


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
        )
    for node in _nodes(source.tree.body):
        if isinstance(node, (ast.stmt, ast.expr)) and not isinstance(node, _STATEMENTS + _EXPRESSIONS):
            what = _NAMES.get(type(node), type(node).__name__)
            raise UnsupportedKernel(
                f"{what} is not supported in a kernel: {_shortened(source.text(node))}",
                line=node.lineno,
                kernel=source.name,
            )
        if isinstance(node, (ast.For, ast.While)) and node.orelse:
            raise UnsupportedKernel(
                "`else` of a loop is not supported: use a flag variable.",
                line=node.orelse[0].lineno,
                kernel=source.name,
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
