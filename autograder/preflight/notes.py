"""What preflight says about one submission: what it repaired, what a person has to look at, why it gave up."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["Notes", "Unreadable", "shown"]

MOST_NAMES = 12
LONGEST_NAME = 60


class Unreadable(Exception):
    """A submission that no notebook can be made of. The message says what was expected, what came, what to do."""


class Notes:
    """Repairs, one line for each kind with the names of all cells or files that it concerns, and flags."""

    def __init__(self) -> None:
        self._repairs: dict[str, list[str]] = {}
        self._flags: list[tuple[str, str]] = []

    def repair(self, what: str, name: str = "") -> None:
        """Something was repaired; `name` is the cell or file, if it is about one."""
        self._repairs.setdefault(what, []).extend([name] if name else [])

    def flag(self, question: str, reason: str) -> None:
        """A person has to look at this question ("" for the whole submission)."""
        self._flags.append((question, reason))

    @property
    def repairs(self) -> tuple[str, ...]:
        """One sentence for each kind of repair."""
        return tuple(f"{what}: {_listed(names)}" if names else what for what, names in self._repairs.items())

    @property
    def flags(self) -> tuple[tuple[str, str], ...]:
        """(grade_id of the question or "", reason), in the order in which they were found."""
        return tuple(self._flags)


def shown(name: str) -> str:
    """A name that a student chose, safe to print: quoted, nothing invisible in it, and short."""
    quoted = ascii(name)
    return quoted if len(quoted) <= LONGEST_NAME else f"{quoted[: LONGEST_NAME - 4]}...'"


def _listed(names: Iterable[str]) -> str:
    unique = list(dict.fromkeys(names))
    rest = f" and {len(unique) - MOST_NAMES} more" if len(unique) > MOST_NAMES else ""
    return ", ".join(unique[:MOST_NAMES]) + rest
