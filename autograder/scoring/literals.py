"""Quiz answers are data: a bounded evaluator reads them from the text of the notebook. Nothing runs.

It knows literals, displays, `dict(...)` and its like, arithmetic on constants, a few functions of Python and math,
NumPy's scalar types, and names that are assigned above. Every number, text and container has a bound, so that
`10**10**10` and `"a" * 10**9` are refused at once.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from autograder.scoring.program import Place, Program

__all__ = ["NotData", "TooMuch", "evaluate"]

MOST_STEPS = 20_000
DEEPEST = 60
MOST_BITS = 512
MOST_ITEMS = 10_000
"""Characters of a text, and elements of a container."""


class NotData(ValueError):
    """Plain data cannot be read from the text: the code has to run. The message says what is in the way."""


class TooMuch(ValueError):
    """A value that is far too large, too long or too deeply nested to be an answer."""


def evaluate(program: Program, node: ast.expr, place: Place) -> Any:
    """The value of an expression that stands in the statement at `place`. Raises NotData or TooMuch."""
    try:
        return _Evaluator(program).value(node, place, 0)
    except RecursionError:
        raise TooMuch("the answer is nested too deeply") from None


_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow, ast.BitOr: operator.or_,
    ast.BitAnd: operator.and_, ast.BitXor: operator.xor, ast.LShift: operator.lshift, ast.RShift: operator.rshift,
}  # fmt: skip
_UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.UAdd: operator.pos, ast.USub: operator.neg, ast.Not: operator.not_, ast.Invert: operator.invert,
}  # fmt: skip
_BUILTINS: dict[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (dict, set, frozenset, list, tuple, int, float, bool, str, range, min, max, abs, round, len, sum,
                     sorted, divmod, pow)
}  # fmt: skip
_MATH = {name: getattr(math, name) for name in ("ceil", "floor", "trunc", "sqrt", "log", "log2", "log10", "exp", "gcd",
                                                "fabs", "isqrt", "pi", "e", "inf", "nan")}  # fmt: skip
_SCALARS = {
    name: getattr(np, name)
    for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32",
                 "float64", "bool_", "pi", "e", "inf", "nan")
}  # fmt: skip
_KNOWN = {f"math.{name}": value for name, value in _MATH.items()} | {f"numpy.{n}": v for n, v in _SCALARS.items()}
_NUMBERS = (bool, int, float)
_CONTAINERS = (list, tuple, set, frozenset, dict)


class _Evaluator:
    """One walk through an expression, with a bound on its steps."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.steps = 0

    def value(self, node: ast.expr, place: Place, depth: int) -> Any:
        self.steps += 1
        if self.steps > MOST_STEPS or depth > DEEPEST:
            raise TooMuch("the answer holds far too much")
        method = getattr(self, f"_{type(node).__name__.lower()}", None)
        if method is None:
            raise NotData(f"{_named(node)} is no plain data")
        try:
            return _checked(method(node, place, depth + 1))
        except (TypeError, ArithmeticError, LookupError, AttributeError) as error:
            raise NotData(f"{_named(node)} stops with {type(error).__name__}") from None
        except (NotData, TooMuch):
            raise
        except ValueError as error:  # of int("x"), math.sqrt(-1) and the like
            raise NotData(f"{_named(node)} stops with {type(error).__name__}") from None

    def _constant(self, node: ast.Constant, place: Place, depth: int) -> Any:
        if type(node.value) in (complex, bytes):
            raise NotData(f"a {type(node.value).__name__} is no plain data")
        return node.value

    def _items(self, nodes: list[ast.expr], place: Place, depth: int) -> list[Any]:
        found: list[Any] = []
        for node in nodes:
            if isinstance(node, ast.Starred):
                found += _iterated(self.value(node.value, place, depth))
            else:
                found.append(self.value(node, place, depth))
            if len(found) > MOST_ITEMS:
                raise TooMuch("the answer holds far too much")
        return found

    def _list(self, node: ast.List, place: Place, depth: int) -> Any:
        return self._items(node.elts, place, depth)

    def _tuple(self, node: ast.Tuple, place: Place, depth: int) -> Any:
        return tuple(self._items(node.elts, place, depth))

    def _set(self, node: ast.Set, place: Place, depth: int) -> Any:
        return set(self._items(node.elts, place, depth))

    def _dict(self, node: ast.Dict, place: Place, depth: int) -> Any:
        found: dict[Any, Any] = {}
        for key, item in zip(node.keys, node.values, strict=True):
            value = self.value(item, place, depth)
            if key is None:
                found.update(value)
            else:
                found[self.value(key, place, depth)] = value
        return found

    def _unaryop(self, node: ast.UnaryOp, place: Place, depth: int) -> Any:
        return _UNARY[type(node.op)](_number(self.value(node.operand, place, depth)))

    def _binop(self, node: ast.BinOp, place: Place, depth: int) -> Any:
        # A long sum leans to the left: walk down it, so that its length is no depth.
        chain: list[ast.BinOp] = []
        left: ast.expr = node
        while isinstance(left, ast.BinOp):
            chain.append(left)
            left = left.left
        result = self.value(left, place, depth)
        for part in reversed(chain):
            self.steps += 1
            result = _checked(_combined(part.op, result, self.value(part.right, place, depth)))
        return result

    def _subscript(self, node: ast.Subscript, place: Place, depth: int) -> Any:
        return self.value(node.value, place, depth)[self.value(node.slice, place, depth)]

    def _name(self, node: ast.Name, place: Place, depth: int) -> Any:
        found = self.program.binding(node.id, place)
        if found is None:
            raise NotData(f"the name {node.id} is not assigned above")
        if found.path in _KNOWN and not callable(_KNOWN[found.path]):
            return _KNOWN[found.path]
        if found.value is None:
            raise NotData(f"the name {node.id} stands for no plain data")
        return self.value(found.value, found.place, depth)

    def _attribute(self, node: ast.Attribute, place: Place, depth: int) -> Any:
        found = self._known(node, place)
        if found is None or callable(found):
            raise NotData(f"{_named(node)} is no plain data")
        return found

    def _call(self, node: ast.Call, place: Place, depth: int) -> Any:
        function = self._known(node.func, place)
        if not callable(function):
            raise NotData(f"a call of {_named(node.func)} has to run")
        arguments = self._items(node.args, place, depth)
        named: dict[str, Any] = {}
        for keyword in node.keywords:
            value = self.value(keyword.value, place, depth)
            named |= {keyword.arg: value} if keyword.arg else value
        if function is pow:
            if len(arguments) != 2 or named:
                raise NotData("pow with these arguments has to run")
            return _combined(ast.Pow(), *arguments)
        if function is round and len(arguments) + len(named) == 2:
            digits = arguments[1] if len(arguments) == 2 else named.get("ndigits")
            if type(digits) is int and abs(digits) > 30:
                raise TooMuch("the answer is rounded to far too many digits")
        if "key" in named and function is not dict:
            raise NotData("a key= function has to run")
        return function(*arguments, **named)

    def _known(self, node: ast.expr, place: Place) -> Any:
        """What a name or attribute stands for, if it is one of those that may be used here; else None."""
        if isinstance(node, ast.Name):
            found = self.program.binding(node.id, place)
            return _BUILTINS.get(node.id) if found is None else _KNOWN.get(found.path)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            found = self.program.binding(node.value.id, place)
            return None if found is None else _KNOWN.get(f"{found.path}.{node.attr}")
        return None


def _combined(op: ast.operator, left: Any, right: Any) -> Any:
    function = _BINARY.get(type(op))
    if function is None or (isinstance(op, ast.Mod) and type(left) is str):
        raise NotData(f"the operator {type(op).__name__} has to run")
    if isinstance(op, ast.Mult) and (_sized(left) or _sized(right)):
        whole, times = (left, right) if _sized(left) else (right, left)
        if type(times) is int and times > 0 and len(whole) * times > MOST_ITEMS:
            raise TooMuch("the answer holds far too much")
    if type(left) in (int, bool) and type(right) in (int, bool):
        grown = {ast.Pow: int(left).bit_length() * max(right, 0), ast.LShift: int(left).bit_length() + right}
        if grown.get(type(op), 0) > MOST_BITS:
            raise TooMuch("a number in the answer is far too large")
    with np.errstate(all="ignore"):
        return function(left, right)


def _sized(value: Any) -> bool:
    return type(value) in (str, list, tuple)


def _number(value: Any) -> Any:
    if type(value) in _NUMBERS or isinstance(value, np.generic):
        return value
    raise NotData(f"an operator on a {type(value).__name__} has to run")


def _iterated(value: Any) -> list[Any]:
    if type(value) not in (*_CONTAINERS, str, range):
        raise NotData(f"a {type(value).__name__} cannot be unpacked")
    return list(value)


def _checked(value: Any) -> Any:
    """A value of a known type that is not too large."""
    exact = type(value)
    if exact is int and value.bit_length() > MOST_BITS:
        raise TooMuch("a number in the answer is far too large")
    if exact in (*_CONTAINERS, str, range) and (len(value) if exact is not range else _length(value)) > MOST_ITEMS:
        raise TooMuch("the answer holds far too much")
    if exact in (*_NUMBERS, *_CONTAINERS, str, range, type(None), type(...)) or isinstance(value, np.generic):
        return value
    raise NotData(f"a {exact.__name__} is no plain data")


def _length(numbers: range) -> int:
    """Length of a range, also where `len` would overflow."""
    return max(0, -(-(numbers.stop - numbers.start) // numbers.step))


def _named(node: ast.expr) -> str:
    """An expression in a few words, for the reason."""
    if isinstance(node, ast.Name):
        return node.id[:40]
    if isinstance(node, ast.Attribute):
        return f"{_named(node.value)}.{node.attr}"[:60]
    words = {"joinedstr": "an f-string", "listcomp": "a comprehension", "setcomp": "a comprehension",
             "dictcomp": "a comprehension", "generatorexp": "a generator", "namedexpr": ":=", "ifexp": "if ... else",
             "binop": "the arithmetic", "unaryop": "the arithmetic", "call": "a call"}  # fmt: skip
    name = type(node).__name__.lower()
    return words.get(name, name)
