"""What PTX instructions compute, lane by lane, on NumPy values (PTX ISA, chapter "Instruction Set").

Everything here is arithmetic: values in, a value out. Memory, control and what lanes tell each other stand elsewhere.
Approximations (``sin.approx`` and their like) give the correctly rounded result or one next to it; a GPU's own may
differ by the errors that the PTX ISA allows: 2 ulp for ex2, rcp and sqrt, 2**-20.9 absolute for sin and cos.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from course.simulator.errors import UnsupportedKernel
from course.simulator.fused import fused
from course.simulator.machine.ptx import Instruction, width_of

__all__ = ["Operation", "dtype_of", "operation", "seen_as", "widened"]

Value = Any
"""A NumPy scalar or array of lanes."""

_KINDS = {"pred": np.bool_, "f16": np.float16, "f32": np.float32, "f64": np.float64}


def dtype_of(kind: str) -> np.dtype[Any]:
    """NumPy's type of a PTX type. Packed types and bfloat16 are bits: unsigned numbers of their width."""
    if kind in _KINDS:
        return np.dtype(_KINDS[kind])
    size = width_of(kind)
    if size > 8:
        raise UnsupportedKernel(f"the type .{kind} of PTX does not run in the simulator.")
    return np.dtype(f"{'i' if kind[0] == 's' else 'u'}{size}")


def seen_as(value: Value, dtype: np.dtype[Any]) -> Value:
    """The low bits of a register as another type."""
    if value.dtype == dtype:
        return value
    size = dtype.itemsize
    if value.dtype.itemsize != size:
        value = value.view(f"u{value.dtype.itemsize}").astype(f"u{size}")
    return value.view(dtype)


def widened(value: Value, size: int) -> Value:
    """A result for a register of `size` bytes: extended with its sign where it has one."""
    if value.dtype.itemsize >= size or value.dtype == np.bool_:
        return value
    if value.dtype.kind == "f":
        value = value.view(f"u{value.dtype.itemsize}")
    return value.astype(f"{value.dtype.kind}{size}")


class Operation:
    """What an instruction computes: ``result(*values)`` with values of the types in `sources`."""

    def __init__(self, sources: tuple[str, ...], result: Callable[..., Value], flops: tuple[int, int, int] = (0, 0, 0)):
        self.sources, self.result, self.flops = sources, result, flops


def operation(instruction: Instruction) -> Operation | None:
    """The operation of an arithmetic instruction; None for one that is none, or that does not run here."""
    build = _BUILDERS.get(instruction.opcode)
    return None if build is None else build(instruction.modifiers, len(instruction.operands) - 1)


# ---- whole numbers and floats ----------------------------------------------------------------------


def _flops(kind: str, count: int) -> tuple[int, int, int]:
    if kind[0] not in "fb" or kind[:2] in ("b3", "b6", "b1", "b8"):
        return 0, 0, 0
    count *= 2 if kind.endswith("x2") else 1
    place = {2: 0, 4: 0 if kind.endswith("x2") else 1, 8: 2}[width_of(kind)]
    return (count, 0, 0) if place == 0 else (0, count, 0) if place == 1 else (0, 0, count)


def _binary(function: Callable[[Value, Value], Value]) -> Any:
    def build(modifiers: tuple[str, ...], count: int) -> Operation | None:
        kind = modifiers[-1]
        if "cc" in modifiers:
            return None
        return Operation((kind, kind), _float_rules(function, modifiers, kind), _flops(kind, 1))

    return build


def _unary(function: Callable[[Value], Value], flops: int = 0) -> Any:
    def build(modifiers: tuple[str, ...], count: int) -> Operation | None:
        kind = modifiers[-1]
        return Operation((kind,), _float_rules(function, modifiers, kind), _flops(kind, flops))

    return build


def _float_rules(function: Callable[..., Value], modifiers: tuple[str, ...], kind: str) -> Callable[..., Value]:
    """`function` with the modifiers .sat, .relu and .ftz, and for packed and bfloat16 operands."""
    if kind in ("bf16", "bf16x2", "f16x2"):
        inner = function

        def function(*values: Value) -> Value:
            return _packed(inner, values, kind)

        return function
    for name in ("rm", "rp", "rz"):
        if name in modifiers and kind in ("f32", "f64"):
            function = _directed(function, name, dtype_of(kind))
    if "ftz" in modifiers and kind == "f32":
        flushed = function

        def function(*values: Value) -> Value:
            return _flush(flushed(*map(_flush, values)))

    if "sat" in modifiers and kind[0] == "f":
        unbounded = function

        def function(*values: Value) -> Value:
            found = unbounded(*values)
            return np.where(found > 0, np.minimum(found, found.dtype.type(1)), found.dtype.type(0))[()]

    elif "sat" in modifiers:  # add.sat.s32 and sub.sat.s32
        wrapping = function

        def function(*values: Value) -> Value:
            info = np.iinfo(np.int32)
            return np.clip(wrapping(*(value.astype(np.int64) for value in values)), info.min, info.max).astype(np.int32)

    return function


def _directed(function: Callable[..., Value], mode: str, dtype: np.dtype[Any]) -> Callable[..., Value]:
    """A float32 operation rounded down, up or to zero, by way of float64; in float64 by the sign of what was lost."""

    def rounded(*values: Value) -> Value:
        if dtype.itemsize == 4:
            return _round_down_to(function(*(value.astype(np.float64) for value in values)), np.float32, mode)
        wide = function(*(value.astype(np.longdouble) for value in values))
        return _round_down_to(wide, np.float64, mode)

    return rounded


def _round_down_to(exact: Value, kind: Any, mode: str) -> Value:
    """A wide float as a narrow one: .rz to zero, .rm down, .rp up."""
    near = exact.astype(kind)
    with np.errstate(all="ignore"):
        above, below = near.astype(exact.dtype) > exact, near.astype(exact.dtype) < exact
    low, high = kind(-np.inf), kind(np.inf)
    if mode == "rm":
        return np.where(above, np.nextafter(near, low), near)[()]
    if mode == "rp":
        return np.where(below, np.nextafter(near, high), near)[()]
    inward = np.where(exact > 0, above, below)
    return np.where(inward, np.nextafter(near, kind(0)), near)[()]


def _flush(value: Value) -> Value:
    small: Value = np.abs(value) < np.finfo(np.float32).tiny
    flushed: Value = np.where(small, np.copysign(np.float32(0), value), value)
    return flushed[()]


def from_bf16(bits: Value) -> Value:
    """bfloat16 bits as float32."""
    return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)


def to_bf16(value: Value) -> Value:
    """float32 as bfloat16 bits, rounded to the nearest even."""
    bits = value.astype(np.float32).view(np.uint32)
    rounded = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16)
    return np.where(np.isnan(value), np.uint32(0x7FFF), rounded).astype(np.uint16)[()]


def _packed(function: Callable[..., Value], values: tuple[Value, ...], kind: str) -> Value:
    """An operation on bfloat16, or on two halves of a register."""
    if kind == "bf16":
        return to_bf16(function(*map(from_bf16, values)))
    halves = []
    for shift in (0, 16):
        parts = [(value >> np.uint32(shift)).astype(np.uint16) for value in values]
        if kind == "f16x2":
            found = function(*(part.view(np.float16) for part in parts)).view(np.uint16)
        else:
            found = to_bf16(function(*map(from_bf16, parts)))
        halves.append(found.astype(np.uint32) << np.uint32(shift))
    return halves[0] | halves[1]


def _high(one: Value, two: Value) -> Value:
    """The upper half of a product."""
    size = one.dtype.itemsize
    if size < 8:
        wide = f"{one.dtype.kind}{2 * size}"
        return (one.astype(wide) * two.astype(wide) >> np.dtype(wide).type(8 * size)).astype(one.dtype)
    mask, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    a, b = one.view(np.uint64), two.view(np.uint64)
    low, cross = (a & mask) * (b & mask), (a >> half) * (b & mask)
    middle = cross + (low >> half)
    other = (a & mask) * (b >> half) + (middle & mask)
    high = (a >> half) * (b >> half) + (middle >> half) + (other >> half)
    if one.dtype.kind == "i":
        high = high - np.where(one < 0, b, np.uint64(0)) - np.where(two < 0, a, np.uint64(0))
    return high.view(one.dtype)


def _product(modifiers: tuple[str, ...], kind: str) -> Callable[[Value, Value], Value]:
    if "hi" in modifiers:
        return _high
    if "wide" in modifiers:
        wide = np.dtype(f"{kind[0].replace('s', 'i')}{2 * width_of(kind)}")
        return lambda one, two: one.astype(wide) * two.astype(wide)
    return operator.mul


def _mul(modifiers: tuple[str, ...], count: int) -> Operation:
    kind = modifiers[-1]
    return Operation((kind, kind), _float_rules(_product(modifiers, kind), modifiers, kind), _flops(kind, 1))


def _mad(modifiers: tuple[str, ...], count: int) -> Operation | None:
    kind = modifiers[-1]
    if kind[0] in "fb":
        return _fma(modifiers, count)
    if "cc" in modifiers or "sat" in modifiers:
        return None
    product = _product(modifiers, kind)
    third = f"{kind[0]}{16 * width_of(kind)}" if "wide" in modifiers else kind
    return Operation((kind, kind, third), lambda one, two, three: product(one, two) + three)


def _fma(modifiers: tuple[str, ...], count: int) -> Operation:
    kind = modifiers[-1]
    rule: Callable[..., Value] = fused
    if {"rm", "rp", "rz"} & set(modifiers):
        rule = lambda one, two, three: one * two + three  # noqa: E731 (rounded from a wider type)
    return Operation((kind,) * 3, _float_rules(rule, modifiers, kind), _flops(kind, 2))


def _mul24(more: bool) -> Any:
    def build(modifiers: tuple[str, ...], count: int) -> Operation:
        kind = modifiers[-1]
        wide = np.dtype(f"{kind[0].replace('s', 'i')}8")

        def low(value: Value) -> Value:
            shift = value.dtype.type(8)
            return ((value << shift) >> shift).astype(wide)

        places = wide.type(16 if "hi" in modifiers else 0)

        def product(one: Value, two: Value, *three: Value) -> Value:
            found = ((low(one) * low(two)) >> places).astype(one.dtype)
            return found + three[0] if three else found

        return Operation((kind,) * (3 if more else 2), product)

    return build


def _divide(one: Value, two: Value) -> Value:
    """PTX: truncated; by zero every bit is set (the H200's answer; the ISA leaves it open)."""
    if one.dtype.kind == "f":
        return one / two
    zero = two == 0
    safe = np.where(zero, two.dtype.type(1), two)
    if one.dtype.kind == "i":
        low = (one == np.iinfo(one.dtype).min) & (safe == -1)
        safe = np.where(low, safe.dtype.type(1), safe)
        quotient = one // safe
        quotient = quotient + ((one - quotient * safe != 0) & ((one < 0) != (safe < 0))).astype(one.dtype)
    else:
        quotient = one // safe
    return np.where(zero, np.array(-1, np.int64).astype(one.dtype), quotient).astype(one.dtype)[()]


def _remainder(one: Value, two: Value) -> Value:
    zero = two == 0
    return np.where(zero, one, one - _divide(one, two) * two).astype(one.dtype)[()]


def _extreme(smaller: bool) -> Any:
    def build(modifiers: tuple[str, ...], count: int) -> Operation:
        kind = modifiers[-1]
        if kind[0] in "us":
            return Operation((kind, kind), np.minimum if smaller else np.maximum)

        def choose(one: Value, two: Value) -> Value:
            plain: Any = np.fmin if smaller else np.fmax
            if "NaN" in modifiers:
                plain = np.minimum if smaller else np.maximum
            found = plain(one, two)
            equal = (one == two) & (one == 0)  # -0.0 < +0.0
            signs = np.signbit(one) | np.signbit(two) if smaller else np.signbit(one) & np.signbit(two)
            return np.where(equal, np.where(signs, -np.abs(one), np.abs(one)), found).astype(one.dtype)[()]

        return Operation((kind,) * count, _float_rules(lambda *v: choose(v[0], v[1] if len(v) == 2 else choose(*v[1:])),
                                                       modifiers, kind), _flops(kind, 1))  # fmt: skip

    return build


def _shift(left: bool) -> Any:
    def build(modifiers: tuple[str, ...], count: int) -> Operation:
        kind = modifiers[-1]
        dtype = dtype_of(kind)
        bits = 8 * dtype.itemsize

        def shift(value: Value, places: Value) -> Value:
            if left:
                found = np.left_shift(value, np.minimum(places, bits - 1).astype(dtype))
                return np.where(places < bits, found, dtype.type(0))[()]
            found = np.right_shift(value, np.minimum(places, bits - 1).astype(dtype))
            if dtype.kind == "u":
                return np.where(places < bits, found, dtype.type(0))[()]
            return found

        return Operation((kind, "u32"), shift)

    return build


def _funnel(modifiers: tuple[str, ...], count: int) -> Operation:
    left, wrap = "l" in modifiers, "wrap" in modifiers

    def shift(low: Value, high: Value, places: Value) -> Value:
        both = (high.astype(np.uint64) << np.uint64(32)) | low.astype(np.uint64)
        count = (places & np.uint32(31) if wrap else np.minimum(places, np.uint32(32))).astype(np.uint64)
        if left:
            full = np.where(count == 32, both << np.uint64(32), both << (count & np.uint64(31)))
            return (full >> np.uint64(32)).astype(np.uint32)[()]
        return (both >> count).astype(np.uint32)

    return Operation(("b32", "b32", "u32"), shift)


def _lop3(modifiers: tuple[str, ...], count: int) -> Operation | None:
    if "BOOL" in modifiers:
        return None

    def lookup(a: Value, b: Value, c: Value, table: Value) -> Value:
        number = int(np.asarray(table).ravel()[0])
        found = np.zeros((), np.uint32)
        for place in range(8):
            if number >> place & 1:
                term = (a if place & 4 else ~a) & (b if place & 2 else ~b) & (c if place & 1 else ~c)
                found = found | term
        return found[()]

    return Operation(("b32", "b32", "b32", "u32"), lookup)


def _prmt(modifiers: tuple[str, ...], count: int) -> Operation:
    mode = modifiers[-1] if modifiers[-1] != "b32" else ""
    tables = {
        "f4e": ((0, 1, 2, 3), (1, 2, 3, 4), (2, 3, 4, 5), (3, 4, 5, 6)),
        "b4e": ((0, 7, 6, 5), (1, 0, 7, 6), (2, 1, 0, 7), (3, 2, 1, 0)),
        "rc8": ((0,) * 4, (1,) * 4, (2,) * 4, (3,) * 4),
        "ecl": ((0, 1, 2, 3), (1, 1, 2, 3), (2, 2, 2, 3), (3, 3, 3, 3)),
        "ecr": ((0, 0, 0, 0), (0, 1, 1, 1), (0, 1, 2, 2), (0, 1, 2, 3)),
        "rc16": ((0, 1, 0, 1), (2, 3, 2, 3), (0, 1, 0, 1), (2, 3, 2, 3)),
    }

    def permute(a: Value, b: Value, selector: Value) -> Value:
        both = (b.astype(np.uint64) << np.uint64(32)) | a.astype(np.uint64)
        found = np.zeros((), np.uint32)
        for place in range(4):
            if mode:
                which = np.asarray(tables[mode], np.uint64)[(selector & np.uint32(3)).astype(np.int64), place]
                sign = np.bool_(False)
            else:
                code = selector >> np.uint32(4 * place)
                which, sign = (code & np.uint32(7)).astype(np.uint64), (code & np.uint32(8)) != 0
            byte = (both >> (which * np.uint64(8))) & np.uint64(0xFF)
            byte = np.where(sign, np.where(byte & np.uint64(0x80), np.uint64(0xFF), np.uint64(0)), byte)
            found = found | (byte.astype(np.uint32) << np.uint32(8 * place))
        return found[()]

    return Operation(("b32", "b32", "b32"), permute)


def _bfe(modifiers: tuple[str, ...], count: int) -> Operation:
    kind = modifiers[-1]
    bits = 8 * width_of(kind)
    unsigned = np.dtype(f"u{bits // 8}")

    def extract(value: Value, start: Value, length: Value) -> Value:
        start, length = start & np.uint32(255), length & np.uint32(255)
        places = np.arange(bits).reshape((bits,) + (1,) * np.ndim(np.broadcast_arrays(value, start, length)[0]))
        source = np.minimum(start + places, np.uint32(bits - 1))
        raw = (value.view(unsigned) >> source.astype(unsigned)) & unsigned.type(1)
        inside = (places < length) & (start + places < bits)
        last = np.minimum(start + length - np.uint32(1), np.uint32(bits - 1))
        sign = (value.view(unsigned) >> last.astype(unsigned)) & unsigned.type(kind[0] == "s")
        sign = np.where(length == 0, unsigned.type(0), sign)
        chosen = np.where(inside, raw, sign)
        return np.bitwise_or.reduce(chosen << places.astype(unsigned), axis=0).astype(unsigned).view(value.dtype)

    return Operation((kind, "u32", "u32"), extract)


def _bfi(modifiers: tuple[str, ...], count: int) -> Operation:
    kind = modifiers[-1]
    dtype = dtype_of(kind)
    bits = 8 * dtype.itemsize

    def insert(field: Value, into: Value, start: Value, length: Value) -> Value:
        start, length = start & np.uint32(255), length & np.uint32(255)
        length = np.minimum(length, np.uint32(bits) - np.minimum(start, np.uint32(bits)))
        ones = np.where(length == bits, ~dtype.type(0),
                        (dtype.type(1) << np.minimum(length, bits - 1).astype(dtype)) - dtype.type(1))  # fmt: skip
        places = np.minimum(start, bits - 1).astype(dtype)
        mask = np.where(start >= bits, dtype.type(0), ones.astype(dtype) << places)
        return ((into & ~mask) | ((field << places) & mask)).astype(dtype)[()]

    return Operation((kind, kind, "u32", "u32"), insert)


def _popcount(value: Value) -> Value:
    return np.bitwise_count(value).astype(np.uint32)


def _highest(value: Value) -> Value:
    """Place of the highest bit that is set; -1 where none is."""
    found = np.full(np.shape(value), -1, np.int32)
    rest = value.copy()
    for step in (32, 16, 8, 4, 2, 1):
        if step >= 8 * value.dtype.itemsize:
            continue
        moved = rest >> value.dtype.type(step)
        some = moved != 0
        found = np.where(some, found + np.int32(step), found)
        rest = np.where(some, moved, rest)
    return np.where(value != 0, found + np.int32(1), np.int32(-1)).astype(np.int32)[()]


def _leading(modifiers: tuple[str, ...], count: int) -> Operation:
    kind = modifiers[-1]
    bits = 8 * width_of(kind)
    return Operation((kind,), lambda value: (np.int32(bits - 1) - _highest(value)).astype(np.uint32))


def _bfind(modifiers: tuple[str, ...], count: int) -> Operation:
    kind = modifiers[-1]
    bits = 8 * width_of(kind)

    def find(value: Value) -> Value:
        if kind[0] == "s":
            value = np.where(value < 0, ~value, value).view(f"u{bits // 8}")
        place = _highest(value)
        if "shiftamt" in modifiers:
            place = np.where(place < 0, place, np.int32(bits - 1) - place).astype(np.int32)
        return np.asarray(place, np.int32).view(np.uint32)[()]

    return Operation((kind,), find)


def _reverse(value: Value) -> Value:
    raw = np.ascontiguousarray(value).reshape(np.shape(value) or (1,))
    octets = raw.view(np.uint8).reshape(*raw.shape, -1)[..., ::-1]
    flipped = np.packbits(np.unpackbits(octets[..., None], axis=-1)[..., ::-1], axis=-1)[..., 0]
    found = np.ascontiguousarray(flipped).view(value.dtype).reshape(raw.shape)
    return found.reshape(np.shape(value))[()]


# ---- comparing and choosing ------------------------------------------------------------------------

_COMPARE: dict[str, Callable[[Value, Value], Value]] = {
    "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge,
    "lo": operator.lt, "ls": operator.le, "hi": operator.gt, "hs": operator.ge,
}  # fmt: skip
_COMBINE: dict[str, Callable[[Value, Value], Value]] = {"and": operator.and_, "or": operator.or_, "xor": operator.xor}


def comparison(name: str, kind: str) -> Callable[[Value, Value], Value]:
    """One of PTX's comparisons of two values of a type."""
    real = kind[0] == "f" or kind == "bf16"

    def compare(one: Value, two: Value) -> Value:
        if kind == "bf16":
            one, two = from_bf16(one), from_bf16(two)
        if name == "num":
            return ~(np.isnan(one) | np.isnan(two))
        if name == "nan":
            return np.isnan(one) | np.isnan(two)
        if name in _COMPARE:
            found = _COMPARE[name](one, two)
            return found & ~(np.isnan(one) | np.isnan(two)) if real and name == "ne" else found
        return _COMPARE[name[:-1]](one, two) | np.isnan(one) | np.isnan(two)  # equ, neu, ltu, ...

    return compare


def _setp(modifiers: tuple[str, ...], count: int) -> Operation | None:
    kind = modifiers[-1]
    if kind.endswith("x2"):
        return None
    compare = comparison(modifiers[0], kind)
    if count == 2:
        return Operation((kind, kind), compare)
    combine = next(_COMBINE[name] for name in modifiers[1:] if name in _COMBINE)
    return Operation((kind, kind, "pred"), lambda one, two, three: combine(compare(one, two), three))


def _set(modifiers: tuple[str, ...], count: int) -> Operation | None:
    kind, result = modifiers[-1], modifiers[-2]
    inner = _setp((modifiers[0], *(name for name in modifiers[1:-2] if name in _COMBINE), kind), count)
    if inner is None or kind.endswith("x2"):
        return None
    dtype = dtype_of(result)
    true = dtype.type(1) if result[0] == "f" else np.array(-1, np.int64).astype(dtype)[()]
    return Operation(inner.sources, lambda *values: np.where(inner.result(*values), true, dtype.type(0))[()])


def _selp(modifiers: tuple[str, ...], count: int) -> Operation:
    kind = modifiers[-1]

    def choose(yes: Value, no: Value, which: Value) -> Value:
        if which.ndim == 0:
            return yes if which else no
        return np.where(which, yes, no)

    return Operation((kind, kind, "pred"), choose)


def _slct(modifiers: tuple[str, ...], count: int) -> Operation:
    kind, decides = modifiers[-2:]
    chosen: Callable[..., Value] = np.where
    return Operation((kind, kind, decides), lambda a, b, c: chosen(c >= 0, a, b)[()])


# ---- conversions -----------------------------------------------------------------------------------


def _cvt(modifiers: tuple[str, ...], count: int) -> Operation | None:
    into, source = modifiers[-2:]
    if count == 2:  # two floats packed into one register; the first is the upper half
        if into not in ("f16x2", "bf16x2") or source != "f32" or "rn" not in modifiers:
            return None
        relu = "relu" in modifiers

        def pack(high: Value, low: Value) -> Value:
            if relu:
                high, low = np.fmax(high, np.float32(0)), np.fmax(low, np.float32(0))
            half = to_bf16 if into == "bf16x2" else lambda value: value.astype(np.float16).view(np.uint16)
            return (half(high).astype(np.uint32) << np.uint32(16)) | half(low).astype(np.uint32)

        return Operation(("f32", "f32"), pack)
    known = {"f16", "f32", "f64", "bf16"}
    if any(kind not in known and kind[0] not in "us" for kind in (into, source)) and into != "tf32":
        return None
    return Operation((source,), partial(_converted, into=into, source=source, modifiers=frozenset(modifiers[:-2])))


def _converted(value: Value, into: str, source: str, modifiers: frozenset[str]) -> Value:
    if source == "bf16":
        value = from_bf16(value)
    if "ftz" in modifiers and value.dtype == np.float32:
        value = _flush(value)
    real = value.dtype.kind == "f"
    if into == "tf32":
        bits = value.view(np.uint32) + np.uint32(0x1000)
        return bits & ~np.uint32(0x1FFF)
    rounding = next((name for name in ("rni", "rzi", "rmi", "rpi") if name in modifiers), None)
    if real and rounding:
        value = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}[rounding](value)
    if into[0] in "us":
        dtype = dtype_of(into)
        return _saturated(value, dtype, into[0] == "s") if real or "sat" in modifiers else value.astype(dtype)
    if into == "bf16":
        return to_bf16(value)
    dtype = dtype_of(into)
    mode = next((name for name in ("rz", "rm", "rp") if name in modifiers), None)
    if mode and not (real and value.dtype.itemsize <= dtype.itemsize):
        wide = value.astype(np.longdouble if value.dtype.itemsize == 8 else np.float64)
        found = _round_down_to(wide, dtype.type, mode)
    else:
        found = value.astype(dtype)
    if "sat" in modifiers:
        found = np.where(found > 0, np.minimum(found, dtype.type(1)), dtype.type(0))[()]
    if "relu" in modifiers:
        found = np.fmax(found, dtype.type(0))
    return found


def _saturated(value: Value, dtype: np.dtype[Any], signed: bool) -> Value:
    """A float (or wider whole number) as a whole number: clipped; nan is 0, or for 64 bits the lowest (H200)."""
    info = np.iinfo(dtype)
    if value.dtype.kind != "f":
        low = max(info.min, np.iinfo(value.dtype).min)
        high = min(info.max, np.iinfo(value.dtype).max)
        return np.clip(value, value.dtype.type(low), value.dtype.type(high)).astype(dtype)
    nan = np.isnan(value)
    wide = value.astype(np.float64)
    top = float(info.max) if dtype.itemsize < 8 else np.nextafter(float(info.max), 0)
    over, under = wide >= float(info.max), wide <= float(info.min)
    body = np.clip(np.where(nan, 0, wide), float(info.min), top).astype(dtype)
    found = np.where(over, dtype.type(info.max), np.where(under, dtype.type(info.min), body))
    of_nan = 0 if dtype.itemsize < 8 else (info.min if signed else 1 << 63)
    return np.where(nan, dtype.type(of_nan), found).astype(dtype)[()]


# ---- approximations --------------------------------------------------------------------------------


def _of_double(function: Callable[[Value], Value]) -> Callable[[Value], Value]:
    """A function computed in float64 and rounded to the type of its argument."""
    return lambda value: function(value.astype(np.float64)).astype(value.dtype)


def _sad(modifiers: tuple[str, ...], count: int) -> Operation:
    kind = modifiers[-1]
    return Operation((kind,) * 3, lambda a, b, c: np.where(a > b, a - b, b - a)[()] + c)


def _dp4a(modifiers: tuple[str, ...], count: int) -> Operation:
    one_kind, two_kind = modifiers[-2:]

    def dot(one: Value, two: Value, total: Value) -> Value:
        result = total.view(np.int32).astype(np.int64)
        for place in range(4):
            parts = []
            for value, kind in ((one, one_kind), (two, two_kind)):
                byte = ((value >> np.uint32(8 * place)) & np.uint32(0xFF)).astype(np.uint8)
                parts.append(byte.view(np.int8 if kind == "s32" else np.uint8).astype(np.int64))
            result = result + parts[0] * parts[1]
        return result.astype(np.int32)

    return Operation(("b32", "b32", "b32"), dot)


def _testp(modifiers: tuple[str, ...], count: int) -> Operation | None:
    tests: dict[str, Callable[[Value], Value]] = {
        "finite": np.isfinite, "infinite": np.isinf, "number": lambda v: ~np.isnan(v), "notanumber": np.isnan,
        "normal": lambda v: np.isfinite(v) & (np.abs(v) >= np.finfo(v.dtype).tiny),
        "subnormal": lambda v: (v != 0) & (np.abs(v) < np.finfo(v.dtype).tiny),
    }  # fmt: skip
    return Operation((modifiers[-1],), tests[modifiers[0]]) if modifiers[0] in tests else None


def _negated(value: Value) -> Value:
    return -value if value.dtype.kind == "f" else (~value + value.dtype.type(1))


_BUILDERS: dict[str, Callable[[tuple[str, ...], int], Operation | None]] = {
    "add": _binary(operator.add), "sub": _binary(operator.sub), "mul": _mul, "mad": _mad, "fma": _fma,
    "mul24": _mul24(False), "mad24": _mul24(True), "div": _binary(_divide), "rem": _binary(_remainder),
    "abs": _unary(np.abs), "neg": _unary(_negated), "min": _extreme(True), "max": _extreme(False),
    "and": _binary(operator.and_), "or": _binary(operator.or_), "xor": _binary(operator.xor),
    "not": _unary(operator.invert), "cnot": _unary(lambda value: (value == 0).astype(value.dtype)),
    "shl": _shift(True), "shr": _shift(False), "shf": _funnel, "lop3": _lop3, "prmt": _prmt, "bfe": _bfe, "bfi": _bfi,
    "bfind": _bfind, "popc": _unary(_popcount), "clz": _leading, "brev": _unary(_reverse),
    "setp": _setp, "set": _set, "selp": _selp, "slct": _slct, "cvt": _cvt, "mov": _unary(lambda value: value),
    "sqrt": _unary(np.sqrt, 1), "rcp": _unary(lambda value: value.dtype.type(1) / value, 1),
    "rsqrt": _unary(_of_double(lambda value: 1 / np.sqrt(value)), 1),
    "sin": _unary(_of_double(np.sin)), "cos": _unary(_of_double(np.cos)), "lg2": _unary(_of_double(np.log2)),
    "ex2": _unary(_of_double(np.exp2)), "tanh": _unary(_of_double(np.tanh)),
    "copysign": _binary(lambda sign, value: np.copysign(value, sign)), "testp": _testp, "sad": _sad, "dp4a": _dp4a,
}  # fmt: skip
