"""Random typed expressions of a kernel, and what a GPU makes of them: an oracle in plain scalar Python.

The types of an expression are numba's (asked operation by operation); the values are computed one number at a time,
whole numbers with Python's, floats with NumPy scalars or, where a rounding must be single, with fractions. The rules
are those of the PTX that numba-cuda 0.30 writes (`cuda.compile_ptx`) and of the PTX ISA 9.0, named at each rule.
With ``cpu=True`` the rules of numba's CPU compiler are used instead, so that the oracle itself can be checked.
"""

from __future__ import annotations

import builtins
import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from course.simulator.source.resolver import resolver

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float32", "float64"]
KINDS = [*INTEGERS, *FLOATS, "bool"]
LANES = 4
Point = dict[str, Any]


class Undefined(Exception):
    """No one promises anything for these operands: the sign of a nan; on a CPU, shifts and conversions out of range."""


@dataclass(frozen=True)
class Typed:
    """An expression: its text, its type, what computes it, and its value where Python's own compiler folds it."""

    text: str
    kind: str
    value: Callable[[Point], Any]
    literal: Any = None


def edges(kind: str, rng: np.random.Generator) -> Any:
    """A number of a type: an edge of it more often than not."""
    if kind == "bool":
        return np.bool_(rng.integers(2))
    if kind in FLOATS:
        limits = np.finfo(kind)
        values = [0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -3.5, math.inf, -math.inf, math.nan, limits.max, limits.min,
                  limits.tiny, limits.smallest_subnormal, -limits.smallest_subnormal, 3e9, -2.0**63,
                  2.0**53 + 2]  # fmt: skip
        random = [rng.normal() * 10.0 ** rng.integers(-3, 12), rng.normal() * 100, float(rng.integers(-50, 50))]
        return np.dtype(kind).type(random[rng.integers(3)] if rng.random() < 0.5 else values[rng.integers(len(values))])
    limits = np.iinfo(kind)
    near = [limits.min, limits.max, limits.min + 1, limits.max - 1, 0, 1, 2, 3, 7, limits.max // 2]
    near += [-1, -2] if limits.min else []
    if rng.random() < 0.5:
        return np.dtype(kind).type(near[rng.integers(len(near))])
    return np.dtype(kind).type(rng.integers(max(limits.min, -70), 71))


class Rules:
    """Every operation on numbers of known types."""

    def __init__(self, cpu: bool = False) -> None:
        self.cpu = cpu

    def convert(self, value: Any, kind: str) -> Any:
        """A C conversion; to a whole number as cvt.rzi does it: it saturates (PTX ISA, cvt).

        nan becomes 0; in 64 bits the H200 gives 0x8000000000000000. There is no cvt to 8 bits: NVVM converts to 16
        and cuts.
        """
        made = np.dtype(kind)
        if value.dtype == made:
            return value
        if kind == "bool":
            return np.bool_(value != 0)
        if made.kind == "f" or value.dtype.kind != "f":
            return value.astype(made)
        wide = np.iinfo(made if made.itemsize > 1 else f"{made.kind}2")
        inside = bool(np.isfinite(value)) and np.iinfo(made).min <= int(value) <= np.iinfo(made).max
        if self.cpu and not inside:
            raise Undefined
        if np.isnan(value):
            number = 1 << 63 if wide.bits == 64 else 0
        else:
            number = min(
                max(int(value) if np.isfinite(value) else (wide.max if value > 0 else wide.min), wide.min), wide.max
            )
        return self.whole(number, kind)

    @staticmethod
    def whole(number: int, kind: str) -> Any:
        """The low bits of a whole number, as a type."""
        made = np.dtype(kind)
        return np.frombuffer((number & (1 << 64) - 1).to_bytes(8, "little"), made, 1)[0]

    @staticmethod
    def rounded(number: Fraction, kind: str) -> Any:
        """The float next to a fraction, half to even."""
        try:
            wide = float(number)
        except OverflowError:
            wide = math.copysign(math.inf, number)
        if kind == "float64" or not math.isfinite(wide):
            return np.dtype(kind).type(wide)
        near = np.float32(wide)
        found = [near, np.nextafter(near, np.float32(np.inf)), np.nextafter(near, np.float32(-np.inf))]
        found = [one for one in found if np.isfinite(one)]
        if not np.isfinite(near):
            return near
        return min(found, key=lambda one: (abs(Fraction(float(one)) - number), int(one.view(np.int32)) & 1))

    def unary(self, name: str, value: Any, kind: str) -> Any:
        """-x, +x, ~x: a whole number in its own width, then widened (numba: "negate before upcasting")."""
        own = value.dtype.name
        if own == "bool":
            if name == "invert":
                return np.bool_(not value)
            return self.whole((-1 if name == "neg" else 1) * int(value), kind)
        if own in INTEGERS:
            number = {"neg": -int(value), "pos": int(value), "invert": ~int(value)}[name]
            return self.convert(self.whole(number, own), kind)
        return self.convert(-value if name == "neg" else value, kind)

    def binary(self, name: str, left: Any, right: Any, operands: tuple[str, ...], kind: str) -> Any:
        """An operator; `operands` are the types that numba converts to."""
        if name == "pow":
            return self.power(left, right, operands, kind)
        if name in ("lshift", "rshift", "and_", "or_", "xor"):
            return self.bits(name, self.convert(left, kind), self.convert(right, kind), kind)
        work = operands[0] if operands[0] == operands[1] else kind
        if name == "truediv":
            work = kind
        x, y = self.convert(left, work), self.convert(right, work)
        if name in ("lt", "le", "gt", "ge", "eq", "ne"):
            return np.bool_(getattr(operator, name)(x.item(), y.item()))
        if name in ("floordiv", "mod"):
            return self.divmod(x, y, work)[name == "mod"]
        if work in FLOATS:
            return {"add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.true_divide}[name](x, y)
        return self.whole(getattr(operator, name)(int(x), int(y)), kind)

    def bits(self, name: str, x: Any, y: Any, kind: str) -> Any:
        """Bitwise operators; a shift takes its distance from a 32-bit register, clamped to 64 (PTX ISA, shl, shr)."""
        if name not in ("lshift", "rshift"):
            return getattr(operator, name)(x, y)
        places = int(y) & 0xFFFFFFFF
        if self.cpu and int(y) != places & 63:
            raise Undefined
        return self.whole(int(x) << min(places, 64) if name == "lshift" else int(x) >> min(places, 64), kind)

    def divmod(self, x: Any, y: Any, kind: str) -> tuple[Any, Any]:
        """numba's divmod. Whole numbers: 0 for a divisor of 0, and for the lowest number by -1."""
        made = np.dtype(kind).type
        if kind not in FLOATS:
            if y == 0 or (made(0) > np.iinfo(kind).min == x and y == -1):
                return made(0), made(0)
            return made(int(x) // int(y)), made(int(x) % int(y))
        if y == 0:
            return x / y, self.rest(x, y, kind)
        rest = self.rest(x, y, kind)
        quotient = (x - rest) / y
        if rest != 0:
            if (y < 0) != (rest < 0):
                rest, quotient = rest + y, quotient - made(1)
        else:
            rest = made(-0.0 if y < 0 else 0.0)
        if quotient != 0 and not np.isnan(quotient):
            down = np.floor(quotient)
            down = down + made(1) if quotient - down > made(0.5) else down
        else:
            down = quotient * quotient * x / y
        return down, rest

    def rest(self, x: Any, y: Any, kind: str) -> Any:
        """LLVM's frem, which NVVM writes as |x| - floor(|x| / |y|) * |y| (SASS: one FFMA), with the sign of x."""
        if self.cpu:
            return np.fmod(x, y)
        size, unit = np.abs(x), np.abs(y)
        times = np.floor(size / unit)
        if not (np.isfinite(size) and np.isfinite(unit) and np.isfinite(times)):
            value = -times * unit + size
        else:
            value = self.rounded(Fraction(float(size)) - Fraction(float(times)) * Fraction(float(unit)), kind)
        return -value if x < 0 else value

    def power(self, left: Any, right: Any, operands: tuple[str, ...], kind: str) -> Any:
        """numba's int_power (both of its ways meet in a float64), or powf and pow of floats."""
        made = np.dtype(kind).type
        if operands[1] not in INTEGERS:
            return np.power(self.convert(left, kind), self.convert(right, kind))
        base, exponent = self.convert(left, kind), self.convert(right, operands[1])
        times = int(exponent)
        if times < 0:
            if times == np.iinfo(operands[1]).min:
                if self.cpu:
                    raise Undefined
                return made(0)
            if kind in INTEGERS and base == 0:
                return made(np.iinfo(kind).min)
            if kind in INTEGERS and abs(int(base)) != 1:
                return made(0)
        if abs(times) > 0x10000:
            return self.convert(np.power(np.float64(base), np.float64(times)), kind)
        result, factor, left_over = made(1), base, abs(times)
        while left_over:
            result = self.product(result, factor, kind) if left_over & 1 else result
            left_over, factor = left_over >> 1, self.product(factor, factor, kind)
        if self.cpu and times >= 0:
            return result  # numba's CPU compiler has two returns where numba-cuda has `1.0 / r if invert else r`
        value = np.float64(result)
        return self.convert(np.float64(1) / value if times < 0 else value, kind)

    def product(self, x: Any, y: Any, kind: str) -> Any:
        return x * y if kind in FLOATS else self.whole(int(x) * int(y), kind)

    def extreme(self, name: str, values: list[Any], kind: str) -> Any:
        """max and min: PTX max.f32 for two floats (the operand that is no nan; +0.0 above -0.0), else comparisons."""
        floats = len(values) == 2 and all(value.dtype.name in FLOATS for value in values)
        first, *more = [self.convert(value, kind) for value in values]
        for value in more:
            if floats and not self.cpu:
                if np.isnan(first) or np.isnan(value):
                    first = value if np.isnan(first) else first
                    continue
                key = [(float(one), not np.signbit(one)) for one in (first, value)]
                first = (first, value)[key.index((max if name == "max" else min)(key))]
            elif value > first if name == "max" else value < first:
                first = value
        return first

    def absolute(self, value: Any, kind: str) -> Any:
        value = self.convert(value, kind)
        return np.abs(value) if kind in FLOATS else self.whole(abs(int(value)), kind)

    def round_whole(self, value: Any) -> Any:
        return self.convert(np.rint(np.float64(value)), "int64")

    def round_to(self, value: Any, digits: Any) -> Any:
        """numba-cuda's round_ndigits, line by line."""
        x, places, own = np.float64(value), int(digits), digits.dtype.name
        if not np.isfinite(x):
            return value
        pow2 = np.float64(1)
        ten = lambda n: self.power(np.float64(10), np.int64(n), ("float64", "int64"), "float64")  # noqa: E731
        if places >= 0:
            pow1 = ten(places - 22 if places > 22 else places)
            pow2 = np.float64(1e22 if places > 22 else 1)
            y = (x * pow1) * pow2
            if np.isinf(y):
                return value
        else:
            pow1 = ten(int(self.whole(-places, own)))
            y = x / pow1
        z = np.float64(self.round_whole(y))
        if abs(y - z) == 0.5:
            z = np.float64(2) * np.float64(self.round_whole(y / 2))
        return ((z / pow2) / pow1 if places >= 0 else z * pow1).astype(value.dtype)

    def call(self, name: str, values: list[Any], operands: tuple[str, ...], kind: str) -> Any:
        """math.<name>: C's function in float64, rounded to the type."""
        work = kind if kind in FLOATS else operands[0]
        x = [np.float64(self.convert(value, work)) for value in values]
        if name == "copysign" and np.isnan(x[1]):
            raise Undefined
        if name == "gamma" and x[0] == 0:
            return np.dtype(kind).type(np.copysign(np.inf, x[0]))  # CUDA: tgamma(+-0) is +-inf
        if name == "lgamma" and x[0] <= 0 and x[0] == np.floor(x[0]):
            return np.dtype(kind).type(np.inf)
        if name in ("gamma", "lgamma", "erf", "erfc"):
            try:
                return np.dtype(kind).type(getattr(math, name)(float(x[0])))
            except (OverflowError, ValueError) as error:
                inf = math.copysign(math.inf, x[0]) if name == "gamma" else math.inf
                return np.dtype(kind).type(inf if isinstance(error, OverflowError) else math.nan)
        spelt = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "atan2": "arctan2", "sinh": "sinh"}.get(
            name, name
        )
        found = getattr(np, spelt)(*x)
        return np.bool_(found) if kind == "bool" else found.astype(kind)


UNARY = {"neg": "-", "pos": "+", "invert": "~"}
BINARY = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**", "and_": "&",
    "or_": "|", "xor": "^", "lshift": "<<", "rshift": ">>",
    "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!=",
}  # fmt: skip
EXACT = ("floor", "ceil", "trunc", "fabs", "sqrt", "isnan", "isinf", "isfinite", "fmod", "copysign")
ON_CPU = ("fabs", "sqrt", "isnan", "isinf", "isfinite", "copysign")
"""Those that numba's CPU compiler has, with the same types."""
ROUGH = (
    "exp",
    "log",
    "sin",
    "cos",
    "tanh",
    "gamma",
    "lgamma",
    "erf",
    "erfc",
    "hypot",
    "atan2",
    "asin",
    "log10",
    "expm1",
)
PAIRS = ("fmod", "copysign", "hypot", "atan2")


def values_of(parts: list[Typed], point: Point) -> list[Any]:
    return [part.value(point) for part in parts]


class Maker:
    """Makes expressions; `constants` are the names that their kernel finds outside itself."""

    def __init__(self, seed: int, cpu: bool = False) -> None:
        self.rng = np.random.default_rng(seed)
        self.rules = Rules(cpu)
        self.exact = ON_CPU if cpu else EXACT
        self.constants: dict[str, Any] = {}
        for kind in KINDS:
            for number in range(3):
                self.constants[f"C_{kind}_{number}"] = edges(kind, self.rng)

    def arrays(self) -> dict[str, Any]:
        """The variables: two arrays of each type."""
        return {
            f"{name}_{kind}": np.array([edges(kind, self.rng) for _ in range(LANES)], kind)
            for kind in KINDS for name in "xy"
        }  # fmt: skip

    def leaf(self) -> Typed:
        kind, dice = KINDS[self.rng.integers(len(KINDS))], self.rng.random()
        if dice < 0.65:
            name = f"{'xy'[self.rng.integers(2)]}_{kind}"
            return Typed(f"{name}[i]", kind, lambda point: point[name])
        if dice < 0.85:
            name = f"C_{kind}_{self.rng.integers(3)}"
            constant = self.constants[name]
            return Typed(name, kind, lambda point: constant)
        number = edges(["int64", "int8", "float64", "bool", "uint64"][self.rng.integers(5)], self.rng).item()
        if isinstance(number, float) and not math.isfinite(number):
            number = 1.5
        return self.folded(f"({number!r})", number)

    def folded(self, text: str, number: Any) -> Typed:
        """A literal, as numba sees it: a whole number is an int64, or a uint64 where it must be."""
        kind = "bool" if isinstance(number, bool) else "float64" if isinstance(number, float) else (
            "int64" if number < 2**63 else "uint64")  # fmt: skip
        value = np.dtype(kind).type(number)
        return Typed(text, kind, lambda point: value, number)

    def typed(self, key: str, function: Any, parts: list[Typed]) -> Any:
        found = resolver().signature(function, key, tuple(np.dtype(part.kind) for part in parts))
        return found if found is not None and found[1] in KINDS and all(kind in KINDS for kind in found[0]) else None

    def make(self, depth: int) -> Typed:
        """An expression; operations that numba does not have for the types are drawn again."""
        while True:
            made = self.leaf() if depth == 0 or self.rng.random() < 0.1 else self.operation(depth)
            if made is not None:
                return made

    def rough(self) -> Typed:
        """A function that a GPU approximates, of exact operands: compared with a tolerance."""
        while True:
            name = ROUGH[self.rng.integers(len(ROUGH))]
            made = self.function(name, [self.make(1) for _ in range(2 if name in PAIRS else 1)])
            if made is not None:
                return made

    def operation(self, depth: int) -> Typed | None:
        parts = [self.make(depth - 1) for _ in range(3)]
        one, two, three = parts
        dice = self.rng.random()
        if dice < 0.12:
            return self.of_one(one)
        if dice < 0.62:
            return self.of_two(list(BINARY)[self.rng.integers(len(BINARY))], one, two)
        if dice < 0.78:
            return self.cast(one)
        if dice < 0.86:
            return self.extreme(parts[: 2 + self.rng.integers(2)])
        if dice < 0.93:
            name = self.exact[self.rng.integers(len(self.exact))]
            return self.function(name, parts[: 2 if name in PAIRS else 1])
        if dice < 0.96:
            return self.rounding(one, two)
        unified = resolver().unify(np.dtype(two.kind), np.dtype(three.kind))
        if unified is None or unified.name not in KINDS or "[i]" not in one.text:
            return None  # numba takes one way only where the condition is a constant
        kind, convert = unified.name, self.rules.convert
        return Typed(
            f"({two.text} if {one.text} else {three.text})", kind,
            lambda point: convert(two.value(point) if one.value(point) != 0 else three.value(point), kind),
        )  # fmt: skip

    def of_one(self, one: Typed) -> Typed | None:
        rules = self.rules
        name = ["neg", "pos", "invert", "not", "abs"][self.rng.integers(5)]
        if name == "not":
            text = f"(not {one.text})"
            return Typed(text, "bool", lambda point: np.bool_(one.value(point) == 0)) if one.literal is None else None
        if name == "abs":
            found = self.typed("builtins.abs", abs, [one])
            return found and Typed(
                f"abs({one.text})", found[1], lambda point: rules.absolute(one.value(point), found[1])
            )
        text = f"({UNARY[name]}{one.text})"
        if one.literal is not None:
            return self.python(text)
        found = self.typed(f"operator.{name}", getattr(operator, name), [one])
        return found and Typed(text, found[1], lambda point: rules.unary(name, one.value(point), found[1]))

    def of_two(self, name: str, one: Typed, two: Typed) -> Typed | None:
        rules, text = self.rules, f"({one.text} {BINARY[name]} {two.text})"
        if one.literal is not None and two.literal is not None:
            return None if name in ("pow", "lshift", "lt", "le", "gt", "ge", "eq", "ne") else self.python(text)
        found = self.typed(f"operator.{name}", getattr(operator, name), [one, two])
        if not found or (name == "pow" and found[0][1] in FLOATS):  # powf is rough
            return None
        operands, kind = found
        if name == "pow" and self.rng.random() < 0.3:
            text = f"pow({one.text}, {two.text})"
        elif name in ("floordiv", "mod") and operands[0] == operands[1] == kind and self.rng.random() < 0.3:
            text = f"divmod({one.text}, {two.text})[{int(name == 'mod')}]"
        return Typed(text, kind, lambda point: rules.binary(name, one.value(point), two.value(point), operands, kind))

    def python(self, text: str) -> Typed | None:
        """Operations on literals: Python's compiler computes them before numba comes."""
        try:
            number = eval(text)
        except (ArithmeticError, TypeError, ValueError):
            return None
        if isinstance(number, complex) or (isinstance(number, int) and not -(2**63) <= number < 2**64):
            return None
        return self.folded(text, number)

    def cast(self, one: Typed) -> Typed | None:
        convert, rng = self.rules.convert, self.rng
        if rng.random() < 0.3:
            function = (int, float, bool)[rng.integers(3)]
            found = self.typed(f"builtins.{function.__name__}", function, [one])
            return found and Typed(f"{function.__name__}({one.text})", found[1],
                                   lambda point: convert(one.value(point), found[1]))  # fmt: skip
        kind = [*INTEGERS, *FLOATS][rng.integers(10)]
        return Typed(f"np.{kind}({one.text})", kind, lambda point: convert(one.value(point), kind))

    def extreme(self, parts: list[Typed]) -> Typed | None:
        name, rules = ["min", "max"][self.rng.integers(2)], self.rules
        found = self.typed(f"builtins.{name}", getattr(builtins, name), parts)
        return found and Typed(f"{name}({', '.join(part.text for part in parts)})", found[1],
                               lambda point: rules.extreme(name, values_of(parts, point), found[1]))  # fmt: skip

    def function(self, name: str, parts: list[Typed]) -> Typed | None:
        rules, found = self.rules, self.typed(f"math.{name}", getattr(math, name), parts)
        return found and Typed(f"math.{name}({', '.join(part.text for part in parts)})", found[1],
                               lambda point: rules.call(name, values_of(parts, point), *found))  # fmt: skip

    def rounding(self, one: Typed, digits: Typed) -> Typed | None:
        rules = self.rules
        if rules.cpu and one.kind not in FLOATS:
            return None
        if rules.cpu or self.rng.random() < 0.5 or digits.kind not in INTEGERS:
            found = self.typed("builtins.round", round, [one])
            return found and Typed(f"round({one.text})", found[1], lambda point: rules.round_whole(
                rules.convert(one.value(point), found[0][0])))  # fmt: skip
        found = self.typed("builtins.round", round, [one, digits])
        return found and Typed(f"round({one.text}, {digits.text})", found[1], lambda point: rules.round_to(
            rules.convert(one.value(point), found[0][0]), rules.convert(digits.value(point), found[0][1])))  # fmt: skip
