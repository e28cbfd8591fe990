"""Many typed expressions as one kernel: written to a file, simulated, and compared with the oracle's values."""

from __future__ import annotations

import linecache
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numba import cuda

from course.simulator.source import run
from course.simulator.source.resolver import resolver
from tests.simulator.source.compiler.typed_expressions import KINDS, LANES, Maker, Typed, Undefined

PER_KERNEL = 250


def function_of(maker: Maker, expressions: list[Typed], folder: Path, head: str, name: str) -> Any:
    """A function of the arrays x_..., y_... and out_... of every type, from a file: inspect finds its text."""
    names = [*maker.arrays(), *(f"out_{kind}" for kind in KINDS)]
    body = [f"    out_{one.kind}[{row}, i] = {one.text}" for row, one in enumerate(expressions)]
    text = "\n".join([f"def {name}({', '.join(names)}):", f"    {head}", *body, ""])
    file = folder / f"{name}.py"
    file.write_text(text, encoding="utf-8")
    linecache.checkcache(str(file))
    found: dict[str, Any] = {"np": np, "math": math, "cuda": cuda, **maker.constants}
    exec(compile(text, str(file), "exec"), found)
    return found[name]


def outputs(count: int) -> dict[str, Any]:
    return {f"out_{kind}": np.zeros((count, LANES), kind) for kind in KINDS}


def simulated(maker: Maker, expressions: list[Typed], arrays: dict[str, Any], folder: Path, name: str) -> list[Any]:
    """Values of each expression in every lane."""
    kernel = cuda.jit(function_of(maker, expressions, folder, "i = cuda.grid(1)", name))
    out = outputs(len(expressions))
    run(kernel, 1, LANES, [*arrays.values(), *out.values()])
    return [out[f"out_{one.kind}"][row] for row, one in enumerate(expressions)]


def differences(expressions: list[Typed], found: list[Any], arrays: dict[str, Any], ulps: int = 0) -> list[str]:
    """Expressions whose value in some lane is not the oracle's; signs of zeros count, payloads of nan do not."""
    wrong = []
    for one, values in zip(expressions, found, strict=True):
        for lane in range(LANES):
            try:
                with np.errstate(all="ignore"):
                    wanted = one.value({name: array[lane] for name, array in arrays.items()})
            except Undefined:
                continue
            assert wanted.dtype == values.dtype, (one.text, wanted.dtype, values.dtype)
            if not same(values[lane], wanted, ulps):
                names = {n: array[lane] for n, array in arrays.items() if n in one.text}
                wrong.append(f"{one.text} -> {values[lane]!r}, the oracle says {wanted!r} for {names}")
                break
    return wrong


def same(found: Any, wanted: Any, ulps: int) -> bool:
    if found.dtype.kind != "f":
        return bool(found == wanted)
    if np.isnan(found) or np.isnan(wanted) or ulps == 0:
        return bool(
            (np.isnan(found) and np.isnan(wanted)) or (found == wanted and np.signbit(found) == np.signbit(wanted))
        )
    with np.errstate(all="ignore"):
        return bool(found == wanted or abs(found - wanted) <= ulps * np.spacing(max(abs(found), abs(wanted))))


def compare(count: int, seed: int, folder: Path, make: Callable[[Maker], Typed], ulps: int = 0) -> list[str]:
    """Differences among `count` random expressions. A difference in one names its kernel's constants too."""
    wrong: list[str] = []
    for part, first in enumerate(range(0, count, PER_KERNEL)):
        maker = Maker(seed + part)
        expressions = [make(maker) for _ in range(min(PER_KERNEL, count - first))]
        arrays = maker.arrays()
        found = simulated(maker, expressions, arrays, folder, f"kernel_{seed}_{part}")
        for text in differences(expressions, found, arrays, ulps):
            wrong.append(
                text + "".join(f", {name} = {value!r}" for name, value in maker.constants.items() if name in text)
            )
    resolver().save()
    return wrong
