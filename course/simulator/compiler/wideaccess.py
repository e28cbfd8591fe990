"""128-bit accesses: four neighbouring 4-byte elements with one instruction, which must be aligned."""

from __future__ import annotations

from typing import Any

import numpy as np

from course.simulator.access import Site
from course.simulator.lanes import DEAD, LaunchError, Mask, State, Value, convert, full
from course.simulator.memory import View, gather, locate, notify, scatter

__all__ = ["MisalignedAddress", "wide_load", "wide_store"]


class MisalignedAddress(LaunchError):
    """A wide access at an address that is no multiple of its size: CUDA_ERROR_MISALIGNED_ADDRESS."""


def _locate(state: State, mask: Mask, view: View, index: Value, site: Site) -> tuple[Any, Mask]:
    """First element numbers of aligned accesses that lie inside the array."""
    element, inside, _ = locate(state, mask, view, [index], site.line, False)
    if inside is not DEAD:
        _, inside, _ = locate(state, inside, view, [index + np.int64(3)], site.line, False)
    if inside is DEAD:
        return element, DEAD
    address = np.asarray(element * view.unit + view.base)
    wrong = address % 16 != 0
    wrong = wrong if inside is None else wrong & inside
    if view.strides[0] != 1 or wrong.any():
        first = int(full(wrong, state.shape).argmax())
        number = int(full(address, state.shape).flat[first])
        state.report(
            "misaligned", site.line, wrong,
            lambda _: f"A 16-byte access of {view.name} at address {number}, which is {number % 16} more than a "
            "multiple of 16.",
            "Start at an element whose address is a multiple of 16 bytes (every fourth one of an aligned array), "
            "and handle the elements before it one by one.", view.name,
        )  # fmt: skip
        raise MisalignedAddress(
            f"line {site.line}: misaligned address (CUDA_ERROR_MISALIGNED_ADDRESS): {site.text} of {view.name} "
            f"needs an address that is a multiple of 16, got one with remainder {number % 16}."
        )
    return element, inside


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
