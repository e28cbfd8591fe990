"""Exercise (b) of the chapter `occupancy`: which limit stops an SM from holding more blocks, for six launches."""

from __future__ import annotations

from dataclasses import dataclass

from course.cards import card
from course.checks.parts import Choice, Misconception
from course.checks.question import Question
from course.models.occupancy import Limiter, Occupancy, occupancy

__all__ = ["LAUNCHES", "OPTIONS", "QUESTION", "Launch"]

OPTIONS: dict[Limiter, str] = {
    "warps": "warp slots",
    "blocks": "block slots",
    "registers": "registers",
    "shared": "shared memory",
}


@dataclass(frozen=True)
class Launch:
    """One launch of the question."""

    on: str
    threads: int
    registers: int
    shared_bytes: int

    @property
    def found(self) -> Occupancy:
        """Blocks by every limit."""
        return occupancy(self.on, self.threads, self.registers, self.shared_bytes)

    @property
    def limiter(self) -> str:
        """The one limit that binds."""
        (only,) = self.found.limiters
        return OPTIONS[only]

    def __str__(self) -> str:
        return (
            f"{card(self.on).name}: {self.threads} threads, {self.registers} registers, "
            f"{self.shared_bytes} B of shared memory"
        )


LAUNCHES: dict[str, Launch] = {
    "a": Launch("a100-80gb", 256, 40, 2176),
    "b": Launch("t4", 32, 32, 0),
    "c": Launch("h200", 256, 32, 48 * 1024),
    "d": Launch("rtx-4090", 1024, 32, 0),
    "e": Launch("a100-80gb", 1024, 33, 0),
    "f": Launch("a100-80gb", 128, 24, 10 * 1024),
}
_SPECIAL = {
    ("a", "warp slots"): "Count again: the warp slots would take more of these blocks. What else does a warp need?",
    ("b", "warp slots"): "Half of the warp slots stay empty here. What else does an SM have only so many of?",
    ("e", "warp slots"): "The warp slots would take another block. A warp gets whole units of something.",
    ("f", "warp slots"): "It is close. Add what each block takes besides what it asks for, and count again.",
    ("d", "registers"): "Two of these blocks would find enough registers. Are there slots for all their warps?",
}


def _sentence(name: str, option: str) -> str:
    if (name, option) in _SPECIAL:
        return _SPECIAL[name, option]
    if option == "shared memory" and not LAUNCHES[name].shared_bytes:
        return "These blocks ask for no shared memory."
    verb = "allows" if option == "shared memory" else "allow"
    return f"The {option} {verb} more blocks than that. Another limit is reached before."


def _part(name: str, launch: Launch) -> Choice:
    return Choice(
        name=name,
        points=0.5,
        asks=f"what limits launch {name} ({launch})",
        options=dict.fromkeys(OPTIONS.values(), ""),
        expected=launch.limiter,
        hint="Find the blocks that each limit allows. The smallest number decides.",
        misconceptions=tuple(
            Misconception(option, _sentence(name, option)) for option in OPTIONS.values() if option != launch.limiter
        ),
    )


QUESTION = Question(
    name="occupancy/limiter",
    statement=(
        "Six launches, each on one card. Which limit stops an SM from holding more blocks of it? In each launch it is "
        "exactly one limit. Shared memory is as large as the SM can make it."
    ),
    parts=tuple(_part(name, launch) for name, launch in LAUNCHES.items()),
)
