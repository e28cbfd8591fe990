"""What every part of the compiler shares: casts, conditions, and the count of arithmetic."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace
from types import ModuleType
from typing import Any

import numpy as np

from course.simulator.errors import KernelTypeError
from course.simulator.names import CudaName
from course.simulator.source.compiler.program import Expr, Program, Scope
from course.simulator.source.compiler.values import BOOL, constant, settled, what
from course.simulator.source.lanes import Mask, State, Value, convert
from course.simulator.source.resolver import resolver
from course.simulator.types import ArrayType, TupleType, Type, describe

__all__ = ["Core"]


class Core:
    """Base of the compiler; what it compiles into is in `course.simulator.source.compiler.program`."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.flops = [0, 0, 0]
        """Floating-point operations (16, 32, 64 bit) of the statement, or conditional part, being compiled."""
        self.naming: str | None = None
        """Variable that the statement being compiled assigns: the name of an array that it declares."""
        self.discarded: ast.expr | None = None
        """Call whose value the statement being compiled throws away."""

    def expression(self, scope: Scope, node: ast.expr) -> Expr:
        """Compile any expression."""
        method = getattr(self, f"_{type(node).__name__.lower()}", None)
        if method is None:
            raise scope.refuse(node, f"{type(node).__name__} is not supported in a kernel.")
        return method(scope, node)  # type: ignore[no-any-return]

    def scalar(self, scope: Scope, node: ast.expr, expected: str = "a number") -> Expr:
        """Compile an expression that must be a number."""
        expr = self.expression(scope, node)
        if expr.kind is None:
            raise self.valueless(scope, node, expr)
        if not isinstance(expr.kind, np.dtype):
            hint = " A thread works on one element: give an index, as in x[i]."
            raise scope.mistyped(
                node, f"expected {expected}, got {what(expr)}: {scope.source.text(node)}."
                f"{hint if isinstance(expr.kind, ArrayType) else ''}"
            )  # fmt: skip
        return expr

    def present(self, scope: Scope, node: ast.AST, expr: Expr) -> Expr:
        """Let pass what has a value while the kernel runs: no function, type or module, also not in a tuple."""
        elements = node.elts if isinstance(node, ast.Tuple) else []
        for element, part in zip(elements, getattr(expr, "parts", []), strict=False):
            self.present(scope, element, part)
        if expr.kind is None:
            raise self.valueless(scope, node, expr)
        if _holds_valueless(expr.kind):
            raise scope.mistyped(node, f"a tuple holds numbers, arrays and tuples only: {scope.source.text(node)}.")
        return expr

    def valueless(self, scope: Scope, node: ast.AST, expr: Expr) -> KernelTypeError:
        """An error about a function, module or type where a value is needed, to be raised."""
        text, meant = scope.source.text(node), expr.const
        path = meant.path if isinstance(meant, CudaName) else ""
        if isinstance(node, ast.Name) and node.id in scope.env:
            text = f"cuda.{path}" if path else what(expr)  # `i = cuda.grid` was written further up
        if path in ("threadIdx", "blockIdx", "blockDim", "gridDim"):
            say = f"{text} is three numbers: write {text}.x, {text}.y or {text}.z."
        elif path in ("shared", "local", "const", "atomic", "fp16") or isinstance(meant, ModuleType):
            say = f"{text} holds functions and is no value: write which one, as in {text}.name(...)."
        elif isinstance(meant, (type, np.dtype)):
            say = f"{text} is a type and no value: write {text}(...) around what it shall convert."
        elif path or callable(meant):
            inside = {"grid": "1", "gridsize": "1"}.get(path, "" if path.startswith("sync") else "...")
            say = f"{text} is a function and does nothing until it is called: write {text}({inside})."
        elif isinstance(meant, str):
            say = f"{text} is text: only print(...) takes text in a kernel."
        else:
            say = f"{text} is of type {type(meant).__name__}: a kernel works on numbers, arrays and tuples of them."
        return scope.mistyped(node, say)

    def condition(self, scope: Scope, node: ast.expr) -> Expr:
        """Compile an expression that is used as true or false."""
        return self.truth(self.scalar(scope, node, "a condition"))

    def cast(self, expr: Expr, kind: np.dtype[Any]) -> Expr:
        """Convert a number to another type."""
        if expr.kind == kind:
            return expr
        run = settled(expr).run
        return self.folded(Expr(lambda state, mask: convert(run(state, mask), kind), kind, pure=expr.pure), expr)

    def folded(self, expr: Expr, *operands: Expr) -> Expr:
        """An operation on `settled` constants as a constant: computed once, by what would compute it for the lanes."""
        if not all(operand.known for operand in operands):
            return expr
        with np.errstate(all="ignore"):
            value = expr.run(None, None)  # type: ignore[arg-type]  # constants look at no state
        return constant(value, expr.kind, value.item())

    def cast_result(self, run: Any, kind: np.dtype[Any], pure: bool) -> Expr:
        """What a NumPy function gives, as numba's type."""
        return Expr(lambda state, mask: convert(run(state, mask), kind), kind, pure=pure)

    def truth(self, expr: Expr) -> Expr:
        """A number as true or false."""
        if expr.known:
            return constant(np.bool_(bool(expr.const)), BOOL, bool(expr.const))
        return self.cast(expr, BOOL)

    def conditional(self, scope: Scope, node: ast.expr, compile_part: Callable[[], Expr]) -> Expr:
        """Compile a part that only some lanes evaluate: its arithmetic is reported with their mask."""
        outer, self.flops = self.flops, [0, 0, 0]
        expr = compile_part()
        flops, self.flops = (self.flops[0], self.flops[1], self.flops[2]), outer
        if not any(flops):
            return expr
        run, line = expr.run, node.lineno

        def evaluate(state: State, mask: Mask) -> Value:
            state.executed(line, mask, flops)
            return run(state, mask)

        return Expr(evaluate, expr.kind, expr.const)

    def count(self, kind: np.dtype[Any], operations: int = 1) -> None:
        """Note floating-point work on a type."""
        if kind.kind == "c":
            kind, operations = np.dtype(f"f{kind.itemsize // 2}"), operations * 4
        if kind.kind == "f":
            self.flops[{2: 0, 4: 1, 8: 2}[kind.itemsize]] += operations

    def unified(self, scope: Scope, node: ast.AST, first: Type, second: Type) -> Type:
        """Type of something that may be either; raises where numba refuses."""
        if first == second:
            same = not isinstance(first, ArrayType) or first.root == second.root
            return first if same else replace(first, root="")
        if isinstance(first, np.dtype) and isinstance(second, np.dtype):
            kind = resolver().unify(first, second)
            if kind is not None:
                return kind
        if isinstance(first, TupleType) and isinstance(second, TupleType) and len(first.items) == len(second.items):
            items = zip(first.items, second.items, strict=True)
            return TupleType(tuple(self.unified(scope, node, a, b) for a, b in items))
        if isinstance(first, ArrayType) and isinstance(second, ArrayType):
            if (first.dtype, first.ndim, first.space) == (second.dtype, second.ndim, second.space):
                root = first.root if first.root == second.root else ""
                return ArrayType(first.dtype, first.ndim, first.space, "A", root)
            if first.space != second.space:
                raise scope.refuse(node, "a variable that is sometimes a shared and sometimes another array "
                                   "is not supported: use two variables.")  # fmt: skip
        raise scope.mistyped(node, f"cannot be both {describe(first)} and {describe(second)}.")


def _holds_valueless(kind: Type) -> bool:
    return isinstance(kind, TupleType) and any(item is None or _holds_valueless(item) for item in kind.items)
