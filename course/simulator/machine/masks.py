"""Which lanes: None is every lane, otherwise bools on the axes (grid z, grid y, grid x, lanes of a block).

The same mask object is passed on as long as nothing changes, so that counters need to look at it only once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["Mask", "either", "lanes_of", "split"]

Mask = Any
"""None, or an array of bools with at least one lane. No lane at all is said by leaving the mask out."""


def split(mask: Mask, condition: Any) -> tuple[Mask | bool, Mask | bool]:
    """Lanes of `mask` where a condition holds, and the others; False for none."""
    if condition.ndim == 0:
        return (mask, False) if condition else (False, mask)
    yes = condition if mask is None else mask & condition
    if not yes.any():
        return False, mask
    no = ~condition if mask is None else mask & ~condition
    return (yes, no) if no.any() else (mask, False)


def either(one: Mask, two: Mask, whole: Mask) -> Mask:
    """Lanes of two masks; `whole` itself where these are all its lanes."""
    if one is None or two is None:
        return None
    both = one | two
    if whole is None:
        return None if both.all() else both
    return both if (both != whole).any() else whole


def lanes_of(mask: Mask, shape: tuple[int, ...]) -> Any:
    """The mask on every lane, as an array."""
    return np.ones(shape, bool) if mask is None else np.broadcast_to(mask, shape)
