"""Each operation against plain Python on edge values."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from course.simulator.machine.operations import dtype_of, operation, seen_as
from course.simulator.machine.ptx import Instruction, Register

EDGES = [0, 1, 2, 3, 31, 32, 0x7F, 0x80, 0xFFFF, 0x12345678, 0x7FFFFFFF, 0x80000000, 0x80000001, 0xDEADBEEF, 0xFFFFFFFF]
SMALL = [0, 1, 3, 4, 8, 17, 31, 32, 33, 63, 64, 65, 255]
FLOATS = [0.0, -0.0, 1.0, -1.5, 0.5, 2.5, -2.5, 3.5, 1e-40, 1e30, -1e30, math.inf, -math.inf, math.nan]


def apply(name: str, *columns: Any) -> Any:
    """An instruction on arrays: integers are bits of its types."""
    opcode, *modifiers = name.split(".")
    operands = tuple(Register(f"%{n}") for n in range(len(columns) + 1))
    found = operation(Instruction(opcode, tuple(modifiers), operands, None, 1, 1, 1))
    assert found is not None and len(found.sources) == len(columns)
    values = []
    for kind, column in zip(found.sources, columns, strict=True):
        dtype = dtype_of(kind)
        array = np.asarray(column)
        bits = array.dtype.kind in "iu" and dtype.kind in "iuf"
        values.append(seen_as(array.astype(f"u{dtype.itemsize}"), dtype) if bits else array.astype(dtype))
    with np.errstate(all="ignore"):
        return np.asarray(found.result(*values))


def table(*choices: list[Any]) -> list[list[Any]]:
    return [list(column) for column in zip(*itertools.product(*choices), strict=True)]


def signed(value: int, bits: int = 32) -> int:
    return value - (1 << bits) if value >> (bits - 1) else value


def check(name: str, oracle: Any, *choices: list[Any], bits: int = 32) -> None:
    columns = table(*choices)
    found = apply(name, *(np.array(column, np.uint64) for column in columns))
    result = seen_as(found, np.dtype(f"u{found.dtype.itemsize}"))
    expected = [oracle(*row) & ((1 << bits) - 1) for row in zip(*columns, strict=True)]
    assert np.broadcast_to(result, len(expected)).tolist() == expected  # one value may stand for all lanes


def quotient(a: int, b: int) -> int:
    """Truncated; every bit is set where the divisor is zero."""
    return -1 if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


INTEGERS: dict[str, Any] = {
    "add.u32": lambda a, b: a + b, "sub.s32": lambda a, b: a - b, "mul.lo.u32": lambda a, b: a * b,
    "mul.hi.u32": lambda a, b: a * b >> 32, "mul.hi.s32": lambda a, b: signed(a) * signed(b) >> 32,
    "and.b32": lambda a, b: a & b, "or.b32": lambda a, b: a | b, "xor.b32": lambda a, b: a ^ b,
    "min.s32": lambda a, b: min(signed(a), signed(b)), "max.u32": max,
    "div.u32": quotient, "div.s32": lambda a, b: quotient(signed(a), signed(b)),
    "rem.u32": lambda a, b: a - quotient(a, b) * b if b else a,
    "rem.s32": lambda a, b: signed(a) - quotient(signed(a), signed(b)) * signed(b) if b else a,
    "add.sat.s32": lambda a, b: max(-(2**31), min(2**31 - 1, signed(a) + signed(b))),
    "shl.b32": lambda a, b: a << b if b < 32 else 0, "shr.u32": lambda a, b: a >> b if b < 32 else 0,
    "shr.s32": lambda a, b: signed(a) >> min(b, 31),
}  # fmt: skip


@pytest.mark.parametrize("name", INTEGERS)
def test_whole_numbers(name):
    check(name, INTEGERS[name], EDGES, EDGES)


@pytest.mark.parametrize("kind", ["u32", "s32"])
def test_wide_products(kind):
    value = signed if kind == "s32" else lambda a: a
    check(f"mul.wide.{kind}", lambda a, b: value(a) * value(b), EDGES, EDGES, bits=64)
    check(f"mad.wide.{kind}", lambda a, b, c: value(a) * value(b) + c, EDGES, EDGES, [0, 5, 2**64 - 1], bits=64)


def test_upper_halves_of_64_bits():
    wide = [0, 1, 2**32, 2**63 - 1, 2**63, 2**64 - 1, 0x123456789ABCDEF0]
    check("mul.hi.u64", lambda a, b: a * b >> 64, wide, wide, bits=64)
    check("mul.hi.s64", lambda a, b: signed(a, 64) * signed(b, 64) >> 64, wide, wide, bits=64)


def bfe(value: int, start: int, length: int, bits: int, of_sign: bool) -> int:
    last = min(start + length - 1, bits - 1)
    sign = (value >> last) & 1 if of_sign and length else 0
    taken = [(value >> start + n) & 1 if n < length and start + n < bits else sign for n in range(bits)]
    return sum(bit << n for n, bit in enumerate(taken))


def bfi(field: int, into: int, start: int, length: int) -> int:
    for n in range(32):
        if n < length and start + n < 32:
            into = into & ~(1 << start + n) | ((field >> n) & 1) << start + n
    return into


def test_fields_of_bits():
    check("bfe.u32", lambda v, s, n: bfe(v, s, n, 32, False), EDGES, SMALL, SMALL)
    check("bfe.s32", lambda v, s, n: bfe(v, s, n, 32, True), EDGES, SMALL, SMALL)
    check("bfe.s64", lambda v, s, n: bfe(v, s, n, 64, True), [*EDGES, 1 << 63], SMALL, SMALL, bits=64)
    check("bfi.b32", bfi, EDGES[:8], EDGES[8:], SMALL, SMALL)


def test_counting_bits():
    check("popc.b32", lambda a: a.bit_count(), EDGES)
    check("clz.b32", lambda a: 32 - a.bit_length(), EDGES)
    check("clz.b64", lambda a: 64 - a.bit_length(), [*EDGES, 1 << 63, 1 << 40])
    check("brev.b32", lambda a: int(f"{a:032b}"[::-1], 2), EDGES)
    check("brev.b64", lambda a: int(f"{a:064b}"[::-1], 2), EDGES, bits=64)
    check("bfind.u32", lambda a: a.bit_length() - 1, EDGES)
    check("bfind.s32", lambda a: (a if a < 2**31 else ~a & 0xFFFFFFFF).bit_length() - 1, EDGES)
    check("bfind.shiftamt.u32", lambda a: 32 - a.bit_length() if a else -1, EDGES)


def test_funnel_shifts():
    for mode, places in (("wrap", lambda n: n & 31), ("clamp", lambda n: min(n, 32))):
        check(f"shf.l.{mode}.b32", lambda a, b, n, p=places: ((b << 32 | a) << p(n)) >> 32, EDGES, EDGES, SMALL)
        check(f"shf.r.{mode}.b32", lambda a, b, n, p=places: (b << 32 | a) >> p(n), EDGES, EDGES, SMALL)


@pytest.mark.parametrize("lut", [0, 0x80, 0x96, 0xE8, 0xCA, 0xFE, 0xFF])
def test_any_function_of_three(lut):
    def oracle(a, b, c, _):
        return sum((lut >> ((a >> n & 1) << 2 | (b >> n & 1) << 1 | c >> n & 1) & 1) << n for n in range(32))

    check("lop3.b32", oracle, EDGES, EDGES[::2], EDGES[::3], [lut])


PERMUTED = {
    "f4e": ["3210", "4321", "5432", "6543"], "b4e": ["5670", "6701", "7012", "0123"],
    "rc8": ["0000", "1111", "2222", "3333"], "ecl": ["3210", "3211", "3222", "3333"],
    "ecr": ["0000", "1110", "2210", "3210"], "rc16": ["1010", "3232", "1010", "3232"],
}  # fmt: skip
"""The table of the PTX ISA, "prmt": bytes from the highest to the lowest."""


def test_permuted_bytes():
    raw = [0x91, 0x22, 0xB3, 0x44, 0x55, 0xE6, 0x77, 0x88]
    low, high = (int.from_bytes(bytes(raw[n : n + 4]), "little") for n in (0, 4))

    def oracle(a, b, selector):
        found = 0
        for place in range(4):
            code = selector >> 4 * place & 15
            byte = raw[code & 7]
            found |= ((0xFF if byte & 0x80 else 0) if code & 8 else byte) << 8 * place
        return found

    check("prmt.b32", oracle, [low], [high], [0x3210, 0x7654, 0xFEDC, 0x8091, 0x5410, 0xB3A2])
    for mode, rows in PERMUTED.items():
        wanted = [sum(raw[int(digit)] << 8 * (3 - n) for n, digit in enumerate(row)) for row in rows]
        assert apply(f"prmt.b32.{mode}", [low] * 4, [high] * 4, [0, 1, 2, 3]).tolist() == wanted


def test_extremes_of_floats_skip_nan_and_order_the_zeros():
    def extreme(smaller, a, b):
        if math.isnan(a) or math.isnan(b):
            return b if math.isnan(a) else a
        return sorted((a, b), key=lambda v: (v, math.copysign(1, v)))[0 if smaller else 1]

    for name, smaller in (("min", True), ("max", False)):
        one, two = table(FLOATS, FLOATS)
        wanted = np.array([extreme(smaller, a, b) for a, b in zip(one, two, strict=True)], np.float32)
        found = apply(f"{name}.f32", one, two)
        np.testing.assert_array_equal(found, wanted)
        np.testing.assert_array_equal(np.signbit(found[wanted == 0]), np.signbit(wanted[wanted == 0]))
        told = apply(f"{name}.NaN.f32", one, two)
        np.testing.assert_array_equal(np.isnan(told), np.isnan(one) | np.isnan(two))


@pytest.mark.parametrize(("name", "low", "high"), [("s32", -(2**31), 2**31 - 1), ("u32", 0, 2**32 - 1),
                                                   ("s8", -128, 127), ("u16", 0, 65535)])  # fmt: skip
@pytest.mark.parametrize(("mode", "rounded"), [("rni", round), ("rzi", math.trunc), ("rmi", math.floor),
                                               ("rpi", math.ceil)])  # fmt: skip
def test_floats_to_whole_numbers_saturate(name, low, high, mode, rounded):
    def oracle(value):
        if math.isnan(value):
            return 0
        return (low if value < 0 else high) if math.isinf(value) else max(low, min(high, rounded(value)))

    assert apply(f"cvt.{mode}.{name}.f64", FLOATS).tolist() == [oracle(value) for value in FLOATS]


def test_doubles_to_floats_round_as_told():
    value = 1 + 2**-25
    up = float(np.nextafter(np.float32(1), np.float32(2)))
    for mode, wanted in (("rn", (1, -1)), ("rz", (1, -1)), ("rm", (1, -up)), ("rp", (up, -1))):
        assert apply(f"cvt.{mode}.f32.f64", [value, -value]).tolist() == list(wanted)
    assert apply("cvt.sat.f32.f32", FLOATS).tolist() == [0, 0, 1, 0, 0.5, 1, 0, 1, np.float32(1e-40), 1, 0, 1, 0, 0]


def test_narrow_whole_numbers():
    assert apply("cvt.sat.s8.s32", np.array([300, 2**32 - 300, 5])).tolist() == [127, -128, 5]
    assert apply("cvt.u8.u32", np.array([300])).tolist() == [44]
    assert apply("cvt.s32.s16", np.array([0x8000])).tolist() == [-32768]


def test_fused_product_rounds_once():
    one = np.float32(1 + 2**-12)
    exact = float(one) * float(one) - 1
    assert apply("fma.rn.f32", [one], [one], [np.float32(-1)]).tolist() == [float(np.float32(exact))]
    assert exact != float(np.float32(one * one) - 1)


def test_comparisons_with_nan():
    one, two = [1.0, math.nan, 2.0], [2.0, 1.0, 2.0]
    assert apply("setp.lt.f32", one, two).tolist() == [True, False, False]
    assert apply("setp.ne.f32", one, two).tolist() == [True, False, False]
    assert apply("setp.neu.f32", one, two).tolist() == [True, True, False]
    assert apply("setp.geu.f32", one, two).tolist() == [False, True, True]
    assert apply("setp.num.f32", one, two).tolist() == [True, False, True]


def test_two_halves_of_a_register():
    def pair(low, high):
        return int(np.array([low, high], np.float16).view(np.uint32)[0])

    assert apply("add.f16x2", np.array([pair(1, -2)]), np.array([pair(0.5, 4)])).tolist() == [pair(1.5, 2)]
    assert apply("cvt.rn.f16x2.f32", [3.0], [7.0]).tolist() == [pair(7, 3)]


def test_bfloat16_rounds_to_the_nearest_even():
    def bits(value):
        return int(np.float32(value).view(np.uint32)) >> 16

    assert apply("cvt.rn.bf16.f32", [1 + 2**-8, 1 + 3 * 2**-8, -3.0]).tolist() == [bits(1), bits(1 + 2**-6), bits(-3)]
    assert apply("mul.bf16x2", np.array([bits(2) << 16 | bits(3)]), np.array([bits(5) << 16 | bits(0.5)])).tolist() == [
        bits(10) << 16 | bits(1.5)
    ]
