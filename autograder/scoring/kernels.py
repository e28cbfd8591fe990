"""Kernels are data for the simulator: a function object is made from the text of a `def`, and nothing runs.

Only the body of the function is compiled. Decorators, annotations and signatures are dropped. What the body names is
looked up in the notebook's text as well: device functions, numbers, and names of math, NumPy and numba. Everything
else makes the kernel unreadable.
"""

from __future__ import annotations

import ast
import builtins
import copy
import importlib
import linecache
import types
from collections.abc import Iterator
from typing import Any

import numpy as np

from autograder.scoring.literals import NotData, TooMuch, evaluate
from autograder.scoring.program import Binding, Place, Program
from course import cuda

__all__ = ["Unreadable", "kernel"]

_MODULES = ("math", "numpy", "numba", "numba.cuda", "numba.types", "course.cuda")
"""Modules whose names a kernel may use. The simulator looks at what they hold and calls none of it."""
_NUMBERS = (bool, int, float)


class Unreadable(ValueError):
    """The kernel cannot be read as data; the message says what is in the way."""


def kernel(program: Program, name: str) -> Any:
    """The kernel that a notebook calls `name`, or None where it is None or `...` there. Raises Unreadable."""
    found = program.binding(name)
    if found is None:
        raise Unreadable(f"the notebook defines no {name}")
    if found.function is None:
        if isinstance(found.value, ast.Constant) and found.value.value in (None, ...):
            return None
        raise Unreadable(f"{name} is not made by `def {name}(...)` alone: line {found.statement.lineno} changes it")
    return _Reader(program).function(found)


class _Reader:
    """Makes functions; one that is used twice is made once."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.made: dict[Place, Any] = {}

    def function(self, binding: Binding) -> Any:
        node = binding.function
        assert node is not None
        if binding.place in self.made:
            return self.made[binding.place]
        space: dict[str, Any] = {"__name__": "answers"}
        code = self._code(node, binding.place)
        function = types.FunctionType(code, space, node.name)
        defaults = tuple(self._default(value, binding.place) for value in node.args.defaults)
        function.__defaults__ = defaults or None
        jit = next((decorator for decorator in node.decorator_list if _is_jit(decorator)), None)
        made = function if jit is None else cuda.jit(device=_is_device(jit))(function)
        self.made[binding.place] = made
        for name in sorted(_free_names(node, code)):
            found = self.program.binding(name)
            if found is not None:
                space[name] = self._outside(name, found)
            elif not hasattr(builtins, name) and (stars := self.program.star_imports(len(self.program.cells))):
                raise Unreadable(f"the name {name} may come from `{ast.unparse(stars[-1])[:80]}`")
        return made

    def _code(self, node: ast.FunctionDef, place: Place) -> types.CodeType:
        """The compiled body. The simulator finds its text, which is that of the cell, through linecache."""
        filename = f"<cell {place[0] + 1}>"
        cell = self.program.cells[place[0]]
        text = cell.source if _is_python(cell.source) else cell.text
        linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
        bare = copy.copy(node)
        bare.decorator_list, bare.returns = [], None
        if "type_params" in bare._fields:
            vars(bare)["type_params"] = []  # since Python 3.12
        bare.args = _without_annotations(node.args)
        try:
            module = compile(ast.Module([bare], []), filename, "exec", dont_inherit=True)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise Unreadable(f"{node.name} cannot be compiled ({type(error).__name__}: {str(error)[:100]})") from None
        return next(constant for constant in module.co_consts
                    if isinstance(constant, types.CodeType) and constant.co_name == node.name)  # fmt: skip

    def _default(self, node: ast.expr, place: Place) -> Any:
        try:
            value = evaluate(self.program, node, place)
        except (NotData, TooMuch) as error:
            raise Unreadable(f"a default value of a parameter is no number: {error}") from None
        return _plain(value, "a default value of a parameter")

    def _outside(self, name: str, found: Binding) -> Any:
        """What a name from outside the function stands for."""
        if found.path:
            return _imported(name, found.path)
        if found.function is not None:
            return self.function(found)
        if found.value is None:
            raise Unreadable(f"the name {name} stands for no number: line {found.statement.lineno} changes it")
        path = self._path(found.value, found.place)
        if path:
            return _imported(name, path)
        try:
            value = evaluate(self.program, found.value, found.place)
        except (NotData, TooMuch) as error:
            raise Unreadable(f"the name {name} stands for no number: {error}") from None
        return _plain(value, f"the name {name}")

    def _path(self, node: ast.expr, place: Place) -> str:
        """The path "numpy.float32" of `np.float32`; "" of what is no imported name."""
        if isinstance(node, ast.Name):
            found = self.program.binding(node.id, place)
            return "" if found is None else found.path
        if isinstance(node, ast.Attribute):
            base = self._path(node.value, place)
            return f"{base}.{node.attr}" if base else ""
        return ""


def _is_python(text: str) -> bool:
    """Whether a cell's text is Python as it stands, without IPython's own lines."""
    try:
        ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _plain(value: Any, what: str) -> Any:
    """A number, or a tuple of such."""
    if type(value) in _NUMBERS or isinstance(value, (np.number, np.bool_)):
        return value
    if type(value) is tuple:
        return tuple(_plain(item, what) for item in value)
    raise Unreadable(f"{what} is a {type(value).__name__}, expected a number or a tuple of numbers")


def _imported(name: str, path: str) -> Any:
    """A module, or a name of one. Only modules that are known are looked into."""
    module, _, attribute = path.rpartition(".")
    try:
        if path in _MODULES:
            return importlib.import_module(path)
        if module in _MODULES:
            return getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError):
        raise Unreadable(f"there is no {path}") from None
    raise Unreadable(f"the name {name} comes from {path}: a kernel may use numbers, math, numpy, numba and course.cuda")


def _free_names(node: ast.FunctionDef, code: types.CodeType) -> Iterator[str]:
    """Names that the body reads and does not assign."""
    local = {*code.co_varnames, *code.co_cellvars}
    names = {inner.id for statement in node.body for inner in ast.walk(statement) if isinstance(inner, ast.Name)}
    yield from names - local


def _without_annotations(arguments: ast.arguments) -> ast.arguments:
    """The parameters alone. Default values do not belong to the compiled body: `_default` reads them."""
    bare = copy.deepcopy(arguments)
    everything = [*bare.posonlyargs, *bare.args, *bare.kwonlyargs, bare.vararg, bare.kwarg]
    for argument in filter(None, everything):
        argument.annotation = None
    bare.defaults, bare.kw_defaults = [], [None] * len(bare.kwonlyargs)
    return bare


def _is_jit(decorator: ast.expr) -> bool:
    """Whether a decorator is `jit`, `cuda.jit` or a call of it."""
    function = decorator.func if isinstance(decorator, ast.Call) else decorator
    return "jit" in (getattr(function, "attr", ""), getattr(function, "id", ""))


def _is_device(decorator: ast.expr) -> bool:
    """Whether a decorator says device=True."""
    keywords = decorator.keywords if isinstance(decorator, ast.Call) else []
    return any(k.arg == "device" and isinstance(k.value, ast.Constant) and k.value.value is True for k in keywords)
