"""Operators of a kernel with numba's types, and `and`, `or`, `x if c else y` evaluated by the lanes that need them."""

from __future__ import annotations

import ast
import dis
import operator
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from course.simulator.source.compiler import arithmetic
from course.simulator.source.compiler.core import Core
from course.simulator.source.compiler.program import NOTHING, Evaluate, Expr, Scope
from course.simulator.source.compiler.values import BOOL, FLOAT64, again, constant, once, outside, settled, what
from course.simulator.source.lanes import DEAD, Mask, State, Value, merge, split
from course.simulator.source.resolver import resolver
from course.simulator.types import NoneType, describe

__all__ = ["BINARY", "COMPARE", "Operation", "Operators", "watched"]

Operation = tuple[str, Callable[..., Any], Any, bool]
"""Name in Python's operator module, what Python and NumPy compute, whether it is floating-point work."""

BINARY: dict[type[ast.operator], Operation] = {
    ast.Add: ("add", operator.add, np.add, True),
    ast.Sub: ("sub", operator.sub, np.subtract, True),
    ast.Mult: ("mul", operator.mul, np.multiply, True),
    ast.Div: ("truediv", operator.truediv, np.true_divide, True),
    ast.FloorDiv: ("floordiv", operator.floordiv, np.floor_divide, True),
    ast.Mod: ("mod", operator.mod, np.mod, True),
    ast.Pow: ("pow", operator.pow, np.power, True),
    ast.BitAnd: ("and_", operator.and_, np.bitwise_and, False),
    ast.BitOr: ("or_", operator.or_, np.bitwise_or, False),
    ast.BitXor: ("xor", operator.xor, np.bitwise_xor, False),
    ast.LShift: ("lshift", operator.lshift, np.left_shift, False),
    ast.RShift: ("rshift", operator.rshift, np.right_shift, False),
}
COMPARE: dict[type[ast.cmpop], Operation] = {
    ast.Lt: ("lt", operator.lt, np.less, False),
    ast.LtE: ("le", operator.le, np.less_equal, False),
    ast.Gt: ("gt", operator.gt, np.greater, False),
    ast.GtE: ("ge", operator.ge, np.greater_equal, False),
    ast.Eq: ("eq", operator.eq, np.equal, False),
    ast.NotEq: ("ne", operator.ne, np.not_equal, False),
}
_COMPUTE: dict[str, Callable[[Value, Value], Value]] = {
    "floordiv": arithmetic.floor_divide, "mod": arithmetic.remainder,
    "lshift": arithmetic.shift_left, "rshift": arithmetic.shift_right,
}  # fmt: skip
"""Operators whose values on a GPU are not NumPy's."""
DIVISIONS = ("truediv", "floordiv", "mod")


class Operators(Core):
    """Compiles operators and conditional expressions."""

    def _binop(self, scope: Scope, node: ast.BinOp) -> Expr:
        operation = self.operation(scope, node)
        literal = _literal(node)
        if literal is not NOTHING:
            return outside(scope, node, literal)
        left, right = self.scalar(scope, node.left), self.scalar(scope, node.right)
        return self.binary(scope, node, operation, left, right)

    def operation(self, scope: Scope, node: ast.BinOp | ast.AugAssign) -> Operation:
        """The operator of `a + b` or `a += b`. There is no product of whole arrays."""
        if isinstance(node.op, ast.MatMult):
            raise scope.refuse(node, f"a kernel has no product of whole matrices: {scope.source.text(node)}. "
                               "One thread makes one element of it, in a loop: "
                               "for k in range(a.shape[1]): total += a[row, k] * b[k, column]")  # fmt: skip
        return BINARY[type(node.op)]

    def binary(self, scope: Scope, node: ast.AST, operation: Operation, left: Expr, right: Expr) -> Expr:
        """Apply an operator with numba's types."""
        ufunc: Any
        name, python, ufunc, floating = operation
        left, right = settled(left), settled(right)
        found = resolver().signature(python, f"operator.{name}", (left.kind, right.kind))
        if found is None:
            raise scope.mistyped(
                node, f"numba has no {name} of {describe(left.kind)} and {describe(right.kind)}: "
                f"{scope.source.text(node)}"
            )  # fmt: skip
        kind = np.dtype(found[1])
        operands = tuple(np.dtype(operand) for operand in found[0])
        whole_power = ufunc is np.power and operands[1].kind in "iu"
        if (ufunc in (np.power, np.left_shift, np.right_shift) and not whole_power) or operands[0] != operands[1]:
            operands = (kind, operands[1] if whole_power else kind) if kind != BOOL else operands
        if floating:
            self.count(kind)
        if whole_power:
            return self.folded(_power(self.cast(left, kind), self.cast(right, operands[1]), kind), left, right)
        compute: Any = _COMPUTE.get(name, ufunc)
        a, b = self.cast(left, operands[0]), self.cast(right, operands[1])
        x, y = a.run, b.run
        expr = Expr(lambda state, mask: compute(x(state, mask), y(state, mask)), kind, pure=a.pure and b.pure)
        natural = BOOL if ufunc in [op[2] for op in COMPARE.values()] else FLOAT64 if (
            ufunc is np.true_divide and operands[0].kind in "iub") else operands[0]  # fmt: skip
        if name in DIVISIONS and not (right.known and right.const != 0):
            expr.run = watched(scope, node, x, y, compute, natural)
            expr.pure = False  # lanes that are not meant to divide would be reported
            return self.cast(replace(expr, kind=natural), kind)
        if natural != kind:
            expr.kind = natural
            expr = self.cast(expr, kind)
        return self.folded(expr, left, right)

    def _unaryop(self, scope: Scope, node: ast.UnaryOp) -> Expr:
        literal = _literal(node)
        if literal is not NOTHING:
            return outside(scope, node, literal)
        operand = settled(self.scalar(scope, node.operand))
        if isinstance(node.op, ast.Not):
            true = self.truth(operand)
            if true.known:
                return constant(np.bool_(not true.const), BOOL, not true.const)
            run = true.run
            return Expr(lambda state, mask: np.logical_not(run(state, mask)), BOOL, pure=true.pure)
        unary: dict[type[ast.unaryop], tuple[str, Callable[..., Any], Any]] = {
            ast.USub: ("neg", operator.neg, np.negative),
            ast.UAdd: ("pos", operator.pos, np.positive),
            ast.Invert: ("invert", operator.invert, np.invert),
        }
        name, python, ufunc = unary[type(node.op)]
        found = resolver().signature(python, f"operator.{name}", (operand.kind,))
        if found is None:
            raise scope.mistyped(node, f"numba has no {name} of {describe(operand.kind)}: {scope.source.text(node)}")
        kind = np.dtype(found[1])
        # A whole number is negated and inverted in its own width, and widened after that (int8: -(-128) is -128).
        own = operand.kind if operand.kind.kind in "iu" or kind == BOOL else kind
        inner = self.cast(operand, own).run
        expr = Expr(lambda state, mask: ufunc(inner(state, mask)), own, pure=operand.pure)
        return self.folded(self.cast(expr, kind), operand)

    def _compare(self, scope: Scope, node: ast.Compare) -> Expr:
        left = self.expression(scope, node.left)
        result: Expr | None = None
        for comparison, right_node in zip(node.ops, node.comparators, strict=True):
            right = self.expression(scope, right_node)
            last = right_node is node.comparators[-1]
            if not last:
                right = once(right)
            if isinstance(comparison, (ast.Is, ast.IsNot)):
                answer = self._identity(scope, node, comparison, left, right)
            else:
                if type(comparison) not in COMPARE:
                    raise scope.refuse(node, f"`in` is not supported in a kernel: {scope.source.text(node)}")
                for expr, part in ((left, node.left), (right, right_node)):
                    if expr.kind is None:
                        raise self.valueless(scope, part, expr)
                    if not isinstance(expr.kind, np.dtype):
                        raise scope.mistyped(node, f"cannot compare {what(expr)}: {scope.source.text(node)}")
                answer = self.binary(scope, node, COMPARE[type(comparison)], left, right)
            result = answer if result is None else _and(result, answer)
            left = again(right)
        assert result is not None
        return result

    def _identity(self, scope: Scope, node: ast.Compare, comparison: ast.cmpop, left: Expr, right: Expr) -> Expr:
        nothing = [isinstance(expr.kind, NoneType) or (expr.known and expr.const is None) for expr in (left, right)]
        if not any(nothing):
            raise scope.refuse(node, f"`is` works with None only: {scope.source.text(node)}")
        same = all(nothing) == isinstance(comparison, ast.Is)
        return constant(np.bool_(same), BOOL, same)

    def _boolop(self, scope: Scope, node: ast.BoolOp) -> Expr:
        first = self.scalar(scope, node.values[0], "a condition")
        for value in node.values[1:]:
            second = self.conditional(scope, value, lambda value=value: self.scalar(scope, value, "a condition"))  # type: ignore[misc]
            first = self._either(scope, node, first, second)
        return first

    def _either(self, scope: Scope, node: ast.BoolOp, first: Expr, second: Expr) -> Expr:
        conjunction = isinstance(node.op, ast.And)
        if first.kind == BOOL and second.kind == BOOL:
            return _and(first, second) if conjunction else _or(first, second)
        kind = self.unified(scope, node, first.kind, second.kind)
        one, two = once(self.cast(first, kind)), self.cast(second, kind)
        test = self.truth(again(one)).run
        left, right = one.run, two.run

        def evaluate(state: State, mask: Mask) -> Value:
            value = left(state, mask)
            yes, no = split(mask, test(state, mask))
            needs = yes if conjunction else no
            return value if needs is DEAD else _chosen(needs, right(state, needs), value, mask)

        return Expr(evaluate, kind)

    def _ifexp(self, scope: Scope, node: ast.IfExp) -> Expr:
        test = self.condition(scope, node.test)
        if test.known:
            return self.expression(scope, node.body if test.const else node.orelse)
        yes = self.conditional(
            scope, node.body, lambda: self.present(scope, node.body, self.expression(scope, node.body))
        )
        no = self.conditional(
            scope, node.orelse, lambda: self.present(scope, node.orelse, self.expression(scope, node.orelse))
        )
        if isinstance(yes.kind, np.dtype) and isinstance(no.kind, np.dtype):
            kind = self.unified(scope, node, yes.kind, no.kind)
            yes, no = self.cast(yes, kind), self.cast(no, kind)
        elif yes.kind != no.kind or yes.kind is None:
            raise scope.mistyped(node, f"the two values have different types: {scope.source.text(node)}")
        condition, first, second = test.run, yes.run, no.run

        def evaluate(state: State, mask: Mask) -> Value:
            true, false = split(mask, condition(state, mask))
            if false is DEAD:
                return first(state, true)
            if true is DEAD:
                return second(state, false)
            return merge(true, first(state, true), second(state, false))

        return Expr(evaluate, yes.kind)


def _chosen(mask: Mask, new: Value, old: Value, everyone: Mask) -> Value:
    return new if mask is None or mask is everyone else merge(mask, new, old)


def _power(base: Expr, exponent: Expr, kind: np.dtype[Any]) -> Expr:
    run, power, pure = base.run, exponent.run, base.pure and exponent.pure
    if exponent.known and exponent.const in (1, 2, 3):
        times = exponent.const

        def small(state: State, mask: Mask) -> Value:
            value = run(state, mask)
            value = value if times == 1 else value * value if times == 2 else value * value * value
            return arithmetic.through_float(value, kind)

        return Expr(small, kind, pure=pure)
    return Expr(lambda state, mask: arithmetic.power(run(state, mask), power(state, mask), kind), kind, pure=pure)


def watched(scope: Scope, node: ast.AST, x: Evaluate, y: Evaluate, compute: Any, kind: np.dtype[Any]) -> Evaluate:
    """A division that reports the lanes whose divisor is 0."""
    line, text = getattr(node, "lineno", 0), scope.source.text(node)
    gives = "0" if kind.kind in "iu" else "inf or nan"

    def evaluate(state: State, mask: Mask) -> Value:
        number, divisor = x(state, mask), y(state, mask)
        if not divisor.all():
            zero = np.asarray(divisor == 0 if mask is None else (divisor == 0) & mask)
            if zero.any():
                state.report(
                    "division-by-zero", line, zero, lambda _: f"The divisor of {text} is 0: a GPU raises no error, "
                    f"it goes on with {gives}.", "Guard it: let only threads whose divisor is not 0 divide.", None,
                )  # fmt: skip
        return compute(number, divisor)

    return evaluate


def _literal(node: ast.BinOp | ast.UnaryOp) -> Any:
    """What Python's compiler makes of an expression of literals: numba sees the number (`-2**63`, `1 << 63`) only."""
    allowed = (ast.Constant, ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop)
    if not all(isinstance(child, allowed) for child in ast.walk(node)):
        return NOTHING
    code = compile(ast.Expression(node), "<literal>", "eval")
    if any(instruction.opname.startswith(("BINARY", "UNARY")) for instruction in dis.get_instructions(code)):
        return NOTHING
    return eval(code)


def _and(first: Expr, second: Expr) -> Expr:
    if first.known:
        return second if first.const else first
    one, two = first.run, second.run
    if second.pure:
        return Expr(lambda state, mask: one(state, mask) & two(state, mask), BOOL, pure=first.pure)

    def evaluate(state: State, mask: Mask) -> Value:
        value = one(state, mask)
        yes, _ = split(mask, value)
        return value if yes is DEAD else value & two(state, yes)

    return Expr(evaluate, BOOL)


def _or(first: Expr, second: Expr) -> Expr:
    if first.known:
        return first if first.const else second
    one, two = first.run, second.run
    if second.pure:
        return Expr(lambda state, mask: one(state, mask) | two(state, mask), BOOL, pure=first.pure)

    def evaluate(state: State, mask: Mask) -> Value:
        value = one(state, mask)
        _, no = split(mask, value)
        return value if no is DEAD else value | two(state, no)

    return Expr(evaluate, BOOL)
