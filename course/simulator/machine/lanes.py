"""The lanes of one batch while a program runs: registers, who is where, and what observers are told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from course.simulator.access import Access, Barrier, Finding, Instruction, Observer, Shape, Site
from course.simulator.errors import StepLimit
from course.simulator.machine.masks import Mask, either, lanes_of
from course.simulator.machine.memory import Memory
from course.simulator.machine.operations import seen_as

__all__ = ["State"]


@dataclass
class State:
    """A batch of blocks on the axes (grid z, grid y, grid x, lanes of a block)."""

    shape: Shape
    origin: tuple[int, int, int]
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    warp_lanes: int
    memory: Memory
    observer: Observer | None
    whole: Mask
    """Lanes that exist: None, or False where the last warp of a block is padded."""
    registers: list[Any]
    max_steps: int
    tick: Callable[[], None]
    findings: dict[Any, Finding]
    runnable: dict[int, Mask] = field(default_factory=dict)
    """Place in the program -> lanes that go on there."""
    waiting: dict[int, Mask] = field(default_factory=dict)
    """The same for lanes at a barrier."""
    gone: list[Mask] = field(default_factory=list)
    """Lanes that have left the kernel; empty as long as none has."""
    returns: dict[str, Any] = field(default_factory=dict)
    """Function -> where each lane goes on after it."""
    calls: dict[str, Any] = field(default_factory=dict)
    """Values of the parameters of calls: their bytes by place."""
    protected: int = 0
    """Registers that lanes elsewhere still need: a bit each. A write keeps their values."""
    dynamic_at: int = 0
    """First byte of dynamic shared memory."""
    carry: Any = field(default_factory=lambda: np.asarray(False))
    """What the last ``.cc`` instruction left."""
    epoch: int = 0
    steps: int = 0
    printed: list[str] = field(default_factory=list)

    # ---- registers ----

    def put(self, number: int, mask: Mask, value: Any, always: bool = False) -> None:
        """Write a register for the lanes of `mask`; `always` where lanes of this very place keep their value."""
        old = self.registers[number]
        if mask is not None and old is not None and (always or self.protected >> number & 1):
            value = np.where(mask, value, seen_as(old, value.dtype))
        self.registers[number] = value

    def go(self, place: int, mask: Mask | bool) -> None:
        """Lanes go on at a place."""
        if mask is False:
            return
        if place in self.runnable:
            mask = either(self.runnable[place], mask, self.whole)
        self.runnable[place] = mask

    def leave(self, mask: Mask) -> None:
        """Lanes are finished."""
        self.gone[:] = [either(self.gone[0], mask, self.whole) if self.gone else mask]

    @property
    def live(self) -> Mask:
        """Lanes that have not left."""
        if not self.gone:
            return self.whole
        if self.gone[0] is None:
            return np.zeros((1, 1, 1, 1), bool)
        left = ~self.gone[0]
        return left if self.whole is None else left & self.whole

    def step(self, line: int) -> None:
        """One block of instructions more. Raises StepLimit when that never ends."""
        self.steps += 1
        if self.steps > self.max_steps:
            raise StepLimit(
                f"line {line}: a loop went round {self.max_steps:,} times and did not end. Check its condition: does "
                "every thread reach its end?"
            )
        if self.steps % 64 == 0:
            self.tick()

    # ---- the hardware's registers ----

    def special(self, name: str) -> Any:
        """Value of a special register such as ``%tid.x``."""
        base, _, axis = name.partition(".")
        place = "xyz".find(axis) if axis else 0
        lane = np.arange(self.shape[3], dtype=np.int64)
        width, height, _ = self.block
        if base == "%tid":
            thread = (lane % width, lane // width % height, lane // (width * height))[place]
            return thread.astype(np.uint32).reshape(1, 1, 1, -1)
        if base == "%ctaid":
            along = 2 - place
            index = np.arange(self.shape[along], dtype=np.uint32) + np.uint32(self.origin[along])
            shape = [1, 1, 1, 1]
            shape[along] = -1
            return index.reshape(shape) if len(index) > 1 else index[0]
        if base == "%laneid":
            return (lane % self.warp_lanes).astype(np.uint32).reshape(1, 1, 1, -1)
        if base == "%warpid":
            return (lane // self.warp_lanes).astype(np.uint32).reshape(1, 1, 1, -1)
        if base.startswith("%lanemask_"):
            number = (lane % 32).astype(np.uint64)
            one = np.uint64(1)
            below, own = (one << number) - one, one << number
            bits = {"lt": below, "le": below | own, "eq": own, "ge": ~below, "gt": ~(below | own)}[base[10:]]
            return (bits & np.uint64(0xFFFFFFFF)).astype(np.uint32).reshape(1, 1, 1, -1)
        known = {
            "%ntid": self.block[place], "%nctaid": self.grid[place], "%smid": 0, "%nsmid": 1, "%gridid": 0,
            "%nwarpid": 64, "%clock": self.steps, "%clock_hi": 0, "%dynamic_smem_size": self.memory.sizes["shared"],
            "%total_smem_size": self.memory.sizes["shared"],
        }  # fmt: skip
        if base in known:
            return np.uint32(known[base])
        return np.uint64(self.steps)  # %clock64, %globaltimer: they only promise to grow

    # ---- observers ----

    def tell(self, site: Site, size: int, addresses: Any, mask: Mask, values: Any = None) -> None:
        """One memory instruction."""
        if self.observer is not None:
            self.observer.access(Access(site, size, addresses, mask, self.shape, self.warp_lanes, self.origin,
                                        self.epoch, values))  # fmt: skip

    def executed(self, line: int, mask: Mask, flops: tuple[int, int, int], count: int) -> None:
        """Instructions of one line."""
        if self.observer is not None:
            self.observer.instruction(Instruction(line, mask, self.shape, *flops, count=count))

    def barrier(self, line: int, kind: Any, mask: Mask) -> None:
        """A barrier or a fence."""
        if self.observer is not None:
            self.observer.barrier(Barrier(line, kind, mask, self.live, self.shape, self.origin, self.epoch))

    def report(self, kind: str, line: int, lanes: Any, message: Callable[[int], str], remedy: str, array: str) -> None:
        """Record a finding about some lanes; `message` gets the number of the first in the batch."""
        wrong = lanes_of(lanes, self.shape)
        first, count = int(wrong.argmax()), int(np.count_nonzero(wrong))
        z, y, x, lane = (int(n) for n in np.unravel_index(first, self.shape))
        block = (x + self.origin[2], y + self.origin[1], z + self.origin[0])
        finding = Finding(kind, line, message(first), remedy, lane, block, array, count)
        known = self.findings.get((kind, line, array))
        self.findings[kind, line, array] = finding if known is None else Finding(
            kind, line, known.message, known.remedy, known.lane, known.block, array, known.count + count)  # fmt: skip
        if self.observer is not None:
            self.observer.finding(finding)
