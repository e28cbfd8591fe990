"""Run the simulator's test kernels on a real GPU and compare every value with the simulator's.

    make verify-hardware

Prints one line per kernel that disagrees, and a summary; exit code 1 when any does, 2 without a usable GPU.
"""

from __future__ import annotations

import sys
import traceback
import warnings
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from course import backend, cuda  # noqa: E402
from course.simulator.source import run  # noqa: E402
from tests.simulator.cases import CASES  # noqa: E402

ORDER_FREE = {"compaction", "atomic_ring", "atomic_claim"}
"""Which thread comes first is nobody's promise: outputs of these kernels are compared sorted."""


def on_both(name: str) -> tuple[list[Any], list[Any]]:
    """Outputs of one case on the GPU and in the simulator."""
    case = CASES[name]
    real, simulated = (case.arguments(np.random.default_rng(sum(map(ord, name)))) for _ in range(2))
    case.kernel[case.grid, case.block, 0, case.shared](*real)
    cuda.synchronize()
    run(case.kernel, case.grid, case.block, simulated, shared_bytes=case.shared)
    order = np.sort if name in ORDER_FREE else np.asarray
    return [order(real[place]) for place in case.out], [order(simulated[place]) for place in case.out]


def agree(real: Any, simulated: Any, tolerance: float) -> bool:
    """Whether two outputs are equal: bit by bit for integers, within the case's tolerance for floats."""
    real, simulated = np.asarray(real), np.asarray(simulated)
    if real.dtype.fields:
        return all(agree(real[field], simulated[field], tolerance) for field in real.dtype.fields)
    if real.dtype.kind in "fc":
        # The GPU's float32 functions are good to a few units in the last place.
        return bool(np.allclose(real, simulated, rtol=10 * tolerance, atol=10 * tolerance, equal_nan=True))
    return bool(np.array_equal(real, simulated))


@cuda.jit
def wide_copy(x, y):
    """Copy four elements a thread."""
    i = 4 * cuda.grid(1)
    if i + 3 < x.size:
        cuda.store4(y, i, cuda.load4(x, i))


def wide_accesses() -> list[str]:
    """What is wrong with load4 and store4: values, and the error of a misaligned base (last: it ends the context)."""
    x = np.arange(4096, dtype=np.float32)
    y = np.zeros_like(x)
    wide_copy[8, 128](x, y)
    wrong = [] if np.array_equal(x, y) else ["load4/store4: the copy differs"]
    device = cuda.to_device(x)
    try:
        wide_copy[8, 128](device[1:], cuda.to_device(y))
        cuda.synchronize()
    except Exception as error:
        if "MISALIGNED" not in str(error).upper():
            wrong.append(f"load4 of a misaligned view: expected a misaligned address, got {error}")
    else:
        wrong.append("load4 of a misaligned view: no error")
    return wrong


def main() -> int:
    """Compare everything, print, return the exit code."""
    if not backend.choose().is_gpu:
        print("There is no usable GPU here, so nothing was compared.")
        return 2
    warnings.filterwarnings("ignore", message=".*(under-utilization|copy overhead)")  # these launches are small
    wrong = []
    for name, case in CASES.items():
        try:
            real, simulated = on_both(name)
        except Exception:
            wrong.append(f"{name}: {traceback.format_exc(limit=1).splitlines()[-1]}")
            continue
        wrong += [
            f"{name}, argument {place}: GPU {np.ravel(r)[:4]}, simulator {np.ravel(s)[:4]}"
            for place, r, s in zip(case.out, real, simulated, strict=True)
            if not agree(r, s, case.tolerance)
        ]
    wrong += wide_accesses()
    print("\n".join(wrong))
    print(f"{len(CASES)} kernels on the GPU and in the simulator, load4 and store4: {len(wrong)} disagreements.")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
