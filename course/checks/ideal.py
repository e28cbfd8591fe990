"""What a well-made kernel costs on a shape: the budgets of kernel exercises."""

from __future__ import annotations

import numpy as np

from course.models.coalescing import WARP_LANES, coalesce, index_addresses

__all__ = ["neighbours"]


def neighbours(elements: int, element_bytes: int = 4, *, base: int = 0) -> dict[str, int]:
    """Requests and sectors when neighbouring lanes take neighbouring elements, each of them once.

    base: byte address of the first element. The last warp is as full as the elements allow.
    """
    index = np.arange(max(1, -(-elements // WARP_LANES)) * WARP_LANES).reshape(-1, WARP_LANES)
    cost = coalesce(index_addresses(index, element_bytes, base=base), element_bytes, index < elements)
    return {"instructions": cost.requests, "sectors": int(cost.sectors.sum())}
