"""Kernels over everything the simulator runs, each with inputs and what NumPy says about the result.

Imported twice: by the tests, and by a subprocess in which numba.cuda is numba's own simulator.
"""

from simulator_cases import control, memory, types, warps
from simulator_cases.case import CASES

__all__ = ["CASES", "control", "memory", "types", "warps"]
