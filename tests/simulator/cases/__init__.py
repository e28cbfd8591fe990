"""Kernels over everything the simulator runs, each with inputs and what NumPy says about the result.

Imported twice: by the tests, and by a subprocess in which numba.cuda is numba's own simulator.
"""

from tests.simulator.cases import control, memory, types, warps
from tests.simulator.cases.case import CASES

__all__ = ["CASES", "control", "memory", "types", "warps"]
