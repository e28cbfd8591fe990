"""128-bit accesses: four neighbouring 4-byte elements with one instruction, which must be aligned."""

from __future__ import annotations

from typing import Any

import numpy as np

from course.simulator.access import Site
from course.simulator.errors import MisalignedAddress
from course.simulator.source.lanes import DEAD, Mask, State, Value, convert, full
from course.simulator.source.memory import View, gather, locate, notify, scatter

__all__ = ["refuse_misaligned", "wide_load", "wide_store"]


def _locate(state: State, mask: Mask, view: View, index: Value, site: Site) -> tuple[Any, Mask]:
    """First element numbers of aligned accesses that lie inside the array."""
    element, inside, _ = locate(state, mask, view, [index], site.line, False)
    if inside is not DEAD:
        _, inside, _ = locate(state, inside, view, [index + np.int64(3)], site.line, False)
    if inside is not DEAD:
        refuse_misaligned(
            state, inside, view, element, 16, site,
            "Start at an element whose address is a multiple of 16 bytes (every fourth one of an aligned array), "
            "and handle the elements before it one by one.",
        )  # fmt: skip
    return element, inside


def refuse_misaligned(
    state: State, mask: Mask, view: View, element: Any, size: int, site: Site, remedy: str
) -> None:  # fmt: skip
    """Report and raise MisalignedAddress where elements do not lie at a multiple of `size` bytes, one after another."""
    address = np.asarray(element * view.unit + view.base)
    wrong = address % size != 0
    wrong = wrong if mask is None else wrong & mask
    if (size == view.unit or view.strides[-1] == 1) and not wrong.any():
        return
    first = int(full(wrong, state.shape).argmax())
    number = int(full(address, state.shape).flat[first])
    state.report(
        "misaligned", site.line, wrong,
        lambda _: f"A {size}-byte access of {view.name} at address {number}, which is {number % size} more than a "
        f"multiple of {size}.", remedy, view.name,
    )  # fmt: skip
    raise MisalignedAddress(
        f"misaligned address (CUDA_ERROR_MISALIGNED_ADDRESS): {site.text} of {view.name} "
        f"needs an address that is a multiple of {size}, got one with remainder {number % size}.",
        line=site.line,
    )


def wide_load(view: Any, index: Any, site: Site) -> Any:
    """Closure of load4."""

    def evaluate(state: State, mask: Mask) -> tuple[Value, ...]:
        array = view(state, mask)
        element, inside = _locate(state, mask, array, index(state, mask), site)
        notify(state, site, ((0, 16),), array, element, inside)
        values = [gather(state, array, element + place) for place in range(4)]
        if inside is not mask:
            keep = False if inside is DEAD else inside
            values = [np.where(keep, value, value.dtype.type(0)) for value in values]
        return tuple(values)

    return evaluate


def wide_store(view: Any, index: Any, values: Any, kind: np.dtype[Any], site: Site) -> Any:
    """Closure of store4. The tuple of values is evaluated once: it may be a load4."""

    def evaluate(state: State, mask: Mask) -> None:
        array, numbers = view(state, mask), [convert(number, kind) for number in values(state, mask)]
        element, inside = _locate(state, mask, array, index(state, mask), site)
        notify(state, site, ((0, 16),), array, element, inside)
        for place, number in enumerate(numbers):
            scatter(state, array, element + place, number, inside)

    return evaluate
