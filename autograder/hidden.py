"""Inputs that students do not get to see: seeds of the random inputs that graders draw.

Hidden tests in source/ read them from here; nothing in `course` or release/ names them. An instructor
who wants inputs of their own changes the numbers: no test depends on them.
"""

from __future__ import annotations

__all__ = ["seed"]

_SEEDS = {
    "coalescing/sectors": 730_412_559,
    "coalescing/scale": 184_467_205,
    "coalescing/wide_copy": 962_113_478,
    "coalescing/gather": 305_877_641,
}


def seed(name: str) -> int:
    """Seed of the hidden inputs of one exercise, such as "coalescing/sectors"."""
    try:
        return _SEEDS[name]
    except KeyError:
        known = ", ".join(sorted(_SEEDS))
        raise KeyError(f"no hidden seed for {name!r}: expected one of {known}; or add it to _SEEDS") from None
