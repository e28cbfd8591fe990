"""Words that keep out of each other's way: names in rows of a strip, and names spread along an edge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Label", "spread", "stack"]

_GAP = 5


@dataclass
class Label:
    """A name in a strip: from `left` to `right` lie its marks, then come its words (or before, where they must)."""

    left: float
    right: float
    words: str
    chosen: bool = False
    profile: bool = False
    width: float = 0
    """Of the words; to be measured."""
    row: int = 0

    @property
    def weight(self) -> str:
        """Bold for what the picture is about."""
        return "bold" if self.chosen or self.profile else "normal"

    def text_left(self, edges: tuple[float, float]) -> float:
        """Where the words start, so that they end before the right edge."""
        after = self.right + _GAP
        return after if after + self.width <= edges[1] else max(self.left - _GAP - self.width, edges[0])


def stack(labels: Sequence[Label], first_row: int, edges: tuple[float, float]) -> None:
    """Give rows from right to left: a name lies below all those that it meets, so no mark's line crosses one."""
    placed: list[tuple[float, float, int]] = []
    for label in sorted(labels, key=lambda one: (-one.left, -one.right)):
        start = label.text_left(edges)
        low, high = min(label.left, start) - 3, max(label.right, start + label.width) + 3
        label.row = 1 + max((row for left, right, row in placed if left < high and low < right), default=first_row - 1)
        placed.append((low, high, label.row))


def spread(wanted: Sequence[float], distance: float, low: float, high: float) -> list[float]:
    """Places near the wanted ones, `distance` or more apart, between `low` and `high` if there is room."""
    order = sorted(range(len(wanted)), key=lambda n: wanted[n])
    places = list(wanted)
    least = low
    for n in order:
        places[n] = max(wanted[n], least)
        least = places[n] + distance
    most = high
    for n in reversed(order):
        places[n] = min(places[n], most)
        most = places[n] - distance
    return places
