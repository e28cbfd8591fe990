"""Counts and checks one launch: the observer that a profile hands to the engine."""

from __future__ import annotations

from course.simulator.access import Access, Barrier, Batch, CopyEvent, Finding, Instruction, Launch
from course.simulator.counting.counters import COUNTING, Counters
from course.simulator.hazards.checker import Hazards
from course.simulator.hazards.shadow import SHADOW
from course.simulator.rows import Masks

__all__ = ["CountAndCheck", "warm_up"]


class CountAndCheck:
    """Counters and Hazards in one pass. After the launch, read `counters` and `hazards`."""

    def __init__(self, dram_block_bytes: int | None = None) -> None:
        self._masks = Masks()
        self.counters = Counters(dram_block_bytes, masks=self._masks)
        self.hazards = Hazards(masks=self._masks)

    def begin(self, launch: Launch) -> None:
        """Start of a launch."""
        self.counters.begin(launch)
        self.hazards.begin(launch)

    def batch(self, batch: Batch) -> None:
        """The next blocks start."""
        self.hazards.batch(batch)

    def access(self, access: Access) -> None:
        """One memory instruction."""
        lanes = self._masks.lanes(access)
        self.counters.access(access, lanes)
        self.hazards.access(access, lanes)

    def barrier(self, barrier: Barrier) -> None:
        """A barrier was reached."""
        self.hazards.barrier(barrier)

    def copies(self, event: CopyEvent) -> None:
        """Something happened to asynchronous copies."""
        self.counters.copies(event)
        self.hazards.copies(event)

    def instruction(self, instruction: Instruction) -> None:
        """A statement was executed."""
        self.counters.instruction(instruction)
        self.hazards.instruction(instruction)

    def finding(self, finding: Finding) -> None:
        """Something that only the engine can see."""
        self.hazards.finding(finding)

    def end(self) -> None:
        """The launch is over."""
        self.counters.end()
        self.hazards.end()


def warm_up() -> bool:
    """Compile everything now and leave it in numba's cache. False where there is no place for a cache."""
    return all([COUNTING.load(), SHADOW.load()])
