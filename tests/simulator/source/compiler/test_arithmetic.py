"""A kernel's numbers are those of the PTX that numba-cuda makes: in numba's types, to the last bit."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from numba import cuda

from course.simulator.observers import CountAndCheck
from course.simulator.source.compiler import arithmetic
from course.simulator.source.resolver import Resolver, resolver
from tests.simulator.runs import launch, line_of
from tests.simulator.source.compiler.expression_kernels import compare, function_of, outputs, same
from tests.simulator.source.compiler.typed_expressions import LANES, Maker, Undefined

LOW, HIGH = -(2**63), 2**63 - 1
INF, NAN = math.inf, math.nan
U32, F32, I64 = np.uint32(0xFFFFFFFF), np.float32(16777216), np.int64(HIGH)
CASES = [
    # Negated and inverted in the operand's own width, then widened (neg.s16, cvt.s64.s8).
    ("-x", np.int8(-128), "int64", -128), ("-x", np.int16(-32768), "int64", -32768), ("-x", np.uint8(1), "uint64", 255),
    ("-x", np.uint16(1), "uint64", 65535), ("-x", np.uint32(1), "uint64", 2**32 - 1), ("-x", np.True_, "int64", -1),
    ("~x", np.uint8(0), "uint64", 255), ("~x", np.uint16(1), "uint64", 65534), ("~x", np.int8(-1), "int64", 0),
    ("~x", np.True_, "bool", False), ("abs(x)", np.int8(-128), "int8", -128),
    # Constants: the typed operation, wrapped and rounded.
    ("U32 + U32", 0, "uint64", 2**33 - 2), ("I64 + 1", 0, "int64", LOW), ("I64 * 2", 0, "int64", -2),
    ("F32 + np.float32(1)", 0, "float32", 2**24), ("np.float32(0.1)", 0, "float64", float(np.float32(0.1))),
    ("np.float32(3e38) * np.float32(10)", 0, "float32", INF), ("np.uint32(-1)", 0, "uint32", 2**32 - 1),
    ("np.int32(0xDEADBEEF)", 0, "int32", 0xDEADBEEF - 2**32), ("np.uint8(300)", 0, "uint8", 44),
    ("np.int8(np.uint8(200))", 0, "int8", -56), ("~U32", 0, "uint64", 0), ("I64 // 0", 0, "int64", 0),
    # Literals: Python computes them before numba sees them.
    ("-9223372036854775808", 0, "int64", LOW), ("(1 << 63) // 2", 0, "int64", 2**62), ("2 ** -1", 0, "float64", 0.5),
    # max and min of two floats are PTX's; anything else is a comparison.
    ("max(x, np.float32(1))", np.float32(NAN), "float32", 1), ("min(np.float32(1), x)", np.float32(NAN), "float32", 1),
    ("max(x, 0.0)", -0.0, "float64", 0.0), ("max(0.0, x)", -0.0, "float64", 0.0),
    ("min(0.0, x)", -0.0, "float64", -0.0),
    ("max(x, 0)", np.float32(NAN), "float64", NAN), ("max(0, x)", np.float32(NAN), "float64", 0),
    ("max(x, 1.0, 2.0)", NAN, "float64", NAN), ("np.maximum(x, 1.0)", NAN, "float64", NAN),
    ("np.fmax(x, 1.0)", NAN, "float64", 1), ("np.maximum(x, 0.0)", -0.0, "float64", -0.0),
    # Division.
    ("x // -1", np.int64(LOW), "int64", 0), ("x % -1", np.int64(LOW), "int64", 0), ("x // 0", 7, "int64", 0),
    ("x % 0", 7, "int64", 0), ("x / 0", 7, "float64", INF), ("x // np.float32(0)", np.float32(-1), "float32", -INF),
    ("x % INF", 5.0, "float64", NAN), ("divmod(x, -2)[0]", 7, "int64", -4), ("divmod(x, -2)[1]", 7, "int64", -1),
    ("x % 3.0", 1e20, "float64", 4096.0),
    # Powers of whole exponents go through float64.
    ("x ** -1", 0, "int64", LOW), ("x ** -2", 5, "int64", 0), ("x ** -3", -1, "int64", -1),
    ("x ** 38", 3, "int64", int(float(3**38))), ("x ** 63", 2, "int64", LOW),
    ("x ** 2", 2**31 + 1, "int64", 2**62 + 2**32),
    ("x ** -2", np.float32(3), "float32", np.float32(1 / 9)),
    # A shift by 64 or more, or by a negative number, leaves nothing but the sign.
    ("1 << x", 64, "int64", 0), ("x >> 70", -5, "int64", -1), ("1 << x", -1, "int64", 0), ("1 << x", 2**32, "int64", 1),
    # Float to whole number.
    ("int(x)", 1e300, "int64", HIGH), ("int(x)", NAN, "int64", LOW), ("np.uint8(x)", 300.0, "uint8", 44),
    ("np.int32(x)", NAN, "int32", 0), ("np.uint32(x)", -1.5, "uint32", 0), ("round(x)", 1e300, "int64", HIGH),
    ("round(x)", 2.5, "int64", 2),
    # Poles, and rounding to digits.
    ("math.gamma(x)", 0.0, "float64", INF), ("math.gamma(x)", -0.0, "float64", -INF),
    ("math.gamma(x)", -1.0, "float64", NAN), ("math.gamma(x)", 172.0, "float64", INF),
    ("math.lgamma(x)", -3.0, "float64", INF), ("math.lgamma(x)", 0.0, "float64", INF),
    ("round(x, 1)", np.float32(0.25), "float32", np.float32(0.2)),
    ("round(x, 2)", np.float32(2.675), "float32", np.float32(2.67)),
    ("round(x, 30)", np.float32(1e20), "float32", np.float32(9.223372036854775807e-12)),
    ("round(x, 300)", 1e20, "float64", 1e20), ("round(x, -1)", 25.0, "float64", 20.0),
    ("math.degrees(x)", np.float32(1), "float32", np.float32(180 / math.pi)),
    ("cuda.fma(x, x, -1.0)", 1 + 2.0**-30, "float64", 2.0**-29 + 2.0**-60),
]  # fmt: skip


@pytest.fixture
def untyped(monkeypatch):
    """numba types each operation of the expressions (the oracle asks it), so not the whole kernel once more."""
    monkeypatch.setattr(Resolver, "validate", lambda *_: None)


@pytest.mark.parametrize(("text", "x", "kind", "expected"), CASES, ids=[f"{c[0]}|{c[1]!r}" for c in CASES])
def test_each_known_case_gives_what_ptx_gives(text, x, kind, expected, tmp_path):
    file = tmp_path / "kernel.py"
    file.write_text(f"def kernel(values, out):\n    x = values[0]\n    out[0] = {text}\n")
    names = {"np": np, "math": math, "cuda": cuda, "INF": INF, "U32": U32, "F32": F32, "I64": I64}
    exec(compile(file.read_text(), str(file), "exec"), names)
    out = np.zeros(1, kind)
    launch(cuda.jit(names["kernel"]), np.array([x]), out, block=1)
    assert same(out[0], np.dtype(kind).type(expected), 0), (out[0], expected)


def test_random_expressions_are_typed_by_numba_as_a_whole(tmp_path):
    assert compare(120, 500_000, tmp_path, lambda maker: maker.make(3)) == []


def test_random_expressions_give_what_the_oracle_gives(tmp_path, untyped):
    assert compare(2000, 1000, tmp_path, lambda maker: maker.make(3)) == []


def test_functions_that_a_gpu_approximates_are_near_c_s(tmp_path, untyped):
    assert compare(250, 600_000, tmp_path, lambda maker: maker.rough(), ulps=8) == []


@pytest.mark.slow
def test_a_hundred_thousand_random_expressions_give_what_the_oracle_gives(tmp_path, untyped):
    assert compare(100_000, 10_000, tmp_path, lambda maker: maker.make(3)) == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_the_oracle_is_what_numbas_cpu_compiler_computes(seed, tmp_path):
    """The same rules with those of the CPU in place of PTX's; where the CPU promises nothing, nothing is compared."""
    from numba import njit

    maker = Maker(700_000 + seed, cpu=True)
    expressions = [maker.make(2) for _ in range(120)]
    arrays = maker.arrays()
    compiled = njit(error_model="numpy")(function_of(maker, expressions, tmp_path, "i = 0", f"cpu_{seed}"))
    compared = 0
    for lane in range(LANES):
        out = outputs(len(expressions))
        first = {name: np.ascontiguousarray(array[lane : lane + 1]) for name, array in arrays.items()}
        compiled(*first.values(), *out.values())
        for row, one in enumerate(expressions):
            try:
                with np.errstate(all="ignore"):
                    wanted = one.value({name: array[0] for name, array in first.items()})
            except Undefined:
                continue
            compared += 1
            assert same(out[f"out_{one.kind}"][row, 0], wanted, 0), (one.text, out[f"out_{one.kind}"][row, 0], wanted)
    resolver().save()
    assert compared > 300


@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_a_fused_product_is_rounded_once(kind):
    rng = np.random.default_rng(4)
    a, b = (rng.normal(size=2000).astype(kind) * 2.0 ** rng.integers(-200 if kind == "float64" else -20, 21, 2000)
            for _ in range(2))  # fmt: skip
    a, b = a.astype(kind), b.astype(kind)
    c = (-(a * b) * (1 + rng.integers(-2, 3, 2000) * np.finfo(kind).eps)).astype(kind)
    for x, y, z, found in zip(a, b, c, arithmetic.fused(a, b, c), strict=True):
        exact = Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z))
        assert Maker(0).rules.rounded(exact, kind) == found


# ---- a divisor of 0 is a finding ---------------------------------------------------------------------------------


@cuda.jit
def divides(x, y, out, floats):
    i = cuda.grid(1)
    if i < 40:
        out[i] = x[i] // y[i]
        out[i] += x[i] % y[i]
        floats[i] = x[i] / y[i]
        floats[i] %= floats[i] - floats[i]  # inf - inf is nan, no zero
        q, r = divmod(x[i], y[i])
        out[i] += q + r


def test_a_divisor_of_zero_is_a_finding_with_its_line():
    x, y = np.arange(1, 65), np.arange(64) % 10
    out, floats = np.zeros(64, np.int64), np.zeros(64)
    found = launch(divides, x, y, out, floats, block=64).findings
    lines = [line_of(divides, text) for text in ("x[i] // y", "x[i] % y", "x[i] / y", "floats[i] %=", "divmod")]
    assert [(f.kind, f.line) for f in found] == [("division-by-zero", line) for line in lines]
    assert [f.count for f in found] == [4, 4, 4, 36, 4]
    assert (found[0].lane, found[0].block) == (0, (0, 0, 0))
    assert "x[i] // y[i]" in found[0].message and "goes on with 0" in found[0].message
    assert "inf or nan" in found[2].message and found[0].remedy.startswith("Guard it")
    assert out[0] == 0 and np.isnan(floats[0])


@cuda.jit
def guarded(x, y, out):
    i = cuda.grid(1)
    if i < x.size and y[i] != 0 and x[i] // y[i] >= 0:
        out[i] = x[i] % y[i]
    if i < x.size:
        if y[i] == 0 or x[i] / y[i] > 1e9:
            out[i] = -1
        out[i] += x[i] // y[i] if y[i] else 0
        k = y[i]
        while k > 0 and 12 // k < 20:
            out[i] += 12 % k
            k -= 1


def test_lanes_that_do_not_divide_are_not_reported():
    x, y = np.arange(1, 65), np.arange(64) % 10
    out = np.zeros(64, np.int64)
    assert launch(guarded, x, y, out, block=128).findings == ()
    assert out[0] == -1 and out[25] == 26 % 5 + 26 // 5 + sum(12 % k for k in range(1, 6))


@cuda.jit
def by_a_constant(out):
    i = cuda.grid(1)
    if i == 3:
        out[i] = 5 // 0


def test_a_constant_zero_is_reported_when_a_lane_divides_by_it():
    out = np.ones(32, np.int64)
    (finding,) = launch(by_a_constant, out, block=32).findings
    assert (finding.kind, finding.count, finding.lane) == ("division-by-zero", 1, 3)
    assert out[3] == 0


@cuda.jit
def loads_once(x, y, out):
    i = cuda.grid(1)
    q, r = divmod(x[i], y[i])
    out[i] = q * 100 + r


def test_divmod_reads_its_operands_once():
    x, y, out = np.arange(32) + 64, np.full(32, 7), np.zeros(32, np.int64)
    observer = CountAndCheck()
    launch(loads_once, x, y, out, block=32, observer=observer)
    assert (out == x // 7 * 100 + x % 7).all()
    loads = [count.instructions for count in observer.counters.sites if count.site.kind == "load"]
    assert loads == [1, 1]
