"""Runs every case in numba's own simulator and saves the outputs: python -m tests.simulator.reference FILE."""

from __future__ import annotations

import os
import sys

os.environ["NUMBA_ENABLE_CUDASIM"] = "1"

import numpy as np

from tests.simulator.cases import CASES


def arguments_of(name: str) -> list:
    rng = np.random.default_rng(sum(map(ord, name)))
    return CASES[name].arguments(rng)


if __name__ == "__main__":
    results = {}
    for name, case in CASES.items():
        if not case.numba_simulator:
            continue
        arguments = arguments_of(name)
        try:
            with np.errstate(all="ignore"):
                case.kernel[case.grid, case.block, 0, case.shared](*arguments)
        except Exception as error:
            print(f"{name}: {type(error).__name__}: {error}", file=sys.stderr)
            continue
        for place in case.out:
            results[f"{name}/{place}"] = arguments[place]
    np.savez(sys.argv[1], **results)
