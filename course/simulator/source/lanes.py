"""Lane values and lane masks: what it means that 200 000 threads execute one statement at once.

A value is a NumPy scalar (the same for every lane) or an array on the axes (grid z, grid y, grid x,
lanes of a block) with length 1 where it does not vary. A mask is None (every lane), such an array of
bools, or `DEAD` (no lane). Passing the *same* mask object on where nothing changed is what lets an
assignment see that it needs no merge.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from course.simulator.access import Finding, Instruction, Observer, Shape
from course.simulator.errors import StepLimit

__all__ = [
    "DEAD", "UNBOUND", "State", "both", "convert", "either", "full", "merge", "split",
    "without",
]  # fmt: skip

Mask = Any
"""None, an array of bools, or DEAD."""
Value = Any


class _Named:
    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


DEAD = _Named("DEAD")
"""The mask of a place that no lane reaches."""
UNBOUND = _Named("UNBOUND")
"""A variable that was never assigned."""
_SMALL = 4096
"""Elements of an array whose range is worth remembering."""
MIXED = _Named("MIXED")
"""Where a variable was assigned by several groups of lanes."""


def split(mask: Mask, condition: Any) -> tuple[Mask, Mask]:
    """Lanes of `mask` for which a condition holds, and the others."""
    if condition.ndim == 0:
        return (mask, DEAD) if condition else (DEAD, mask)
    if mask is None:
        if condition.all():
            return None, DEAD
        return (condition, ~condition) if condition.any() else (DEAD, None)
    yes = mask & condition
    if not yes.any():
        return DEAD, mask
    no = mask & ~condition
    return (yes, no) if no.any() else (mask, DEAD)


def either(first: Mask, second: Mask) -> Mask:
    """Lanes of either mask."""
    if first is DEAD or second is None:
        return second
    if second is DEAD or first is None:
        return first
    return first | second


def both(first: Mask, second: Mask) -> Mask:
    """Lanes of both masks."""
    if first is None or second is DEAD or first is second:
        return second
    if second is None or first is DEAD:
        return first
    mask = first & second
    return mask if mask.any() else DEAD


def without(mask: Mask, gone: Mask) -> Mask:
    """Lanes of `mask` that are not in `gone`."""
    if gone is DEAD or mask is DEAD:
        return mask
    if gone is None:
        return DEAD
    left = ~gone if mask is None else mask & ~gone
    return left if left.any() else DEAD


def merge(mask: Mask, new: Value, old: Value) -> Value:
    """`new` for the lanes of `mask`, `old` for the others."""
    if isinstance(new, tuple):
        return tuple(merge(mask, n, o) for n, o in zip(new, old, strict=True))
    if hasattr(new, "merged"):
        return new.merged(mask, old)
    if new.dtype != old.dtype:
        common = np.promote_types(new.dtype, old.dtype)
        new, old = new.astype(common), old.astype(common)
    return np.where(mask, new, old)


def convert(value: Value, dtype: np.dtype[Any]) -> Value:
    """A lane value as another scalar type, as a C conversion does it."""
    if value.dtype == dtype:
        return value
    if value.dtype.kind == "c" and dtype.kind != "c":
        value = value.real
    if dtype.kind == "b":
        return value != 0
    if value.dtype.kind == "f" and dtype.kind in "iu":
        return _to_integer(value, dtype)
    return value.astype(dtype)


def _to_integer(value: Value, dtype: np.dtype[Any]) -> Value:
    """Float to integer as an H200 does it (measured): rounds to zero and saturates.

    nan becomes 0, and the lowest bit pattern in 64 bits; 8 bits are cut from 16.
    """
    wide = dtype if dtype.itemsize > 1 else np.dtype(f"{dtype.kind}2")
    limits = np.iinfo(wide)
    low, high = int(limits.min), int(limits.max)
    inside = (value > float(low) - 1) & (value < float(high) + 1)
    if wide.itemsize == 8 and low:
        inside |= value == low
    if inside.all():
        return value.astype(wide).astype(dtype)
    nan = (low or 2**63) if wide.itemsize == 8 else 0
    bound = np.where(value > 0, wide.type(high), np.where(value <= 0, wide.type(low), wide.type(nan)))
    return np.where(inside, np.where(inside, value, 0).astype(wide), bound).astype(dtype)[()]


def full(value: Value, shape: Shape) -> npt.NDArray[Any]:
    """A value for every single lane (a read-only view where it was broadcast)."""
    return np.broadcast_to(value, shape)


@dataclass
class State:
    """Everything that changes while the blocks of one batch run."""

    shape: Shape
    origin: tuple[int, int, int]
    grid: tuple[int, int, int]
    """(x, y, z), as CUDA writes it."""
    block: tuple[int, int, int]
    warp_lanes: int
    observer: Observer | None
    exists: Mask
    variables: list[Any]
    written: list[Any]
    """For each variable the mask it was assigned under, or MIXED."""
    max_steps: int
    loop_seconds: float
    """What one loop of the batch may take, unless its end is known."""
    clock: Callable[[], float]
    tick: Callable[[], None]
    """Called now and then: progress, time budget; may raise."""
    live: Mask = None
    """Lanes that have not returned from the function that runs."""
    live_kernel: Mask = None
    """Lanes that have not left the kernel."""
    broken: Mask = DEAD
    """Lanes that left the innermost loop."""
    result: Any = UNBOUND
    epoch: Any = 0
    steps: int = 0
    line: int = 0
    """Line of the statement that runs."""
    findings: dict[tuple[str, int, str | None], Finding] = field(default_factory=dict)
    memory: dict[Any, Any] = field(default_factory=dict)
    """Shared and local arrays of this batch, by the place that declares them."""
    cache: dict[str, Any] = field(default_factory=dict)
    """Thread and block indices, computed when first used."""
    copies: Any = None
    """Asynchronous copies of the batch (an AsyncCopies), once there was one."""
    _indices: dict[int, tuple[Any, Any]] = field(default_factory=dict)
    _ranges: dict[int, tuple[Any, Any]] = field(default_factory=dict)

    @property
    def blocks(self) -> int:
        """Blocks in this batch."""
        return self.shape[0] * self.shape[1] * self.shape[2]

    def step(self, line: int, since: float | None = None) -> None:
        """One iteration of a loop; stops a kernel that does not end.

        since: when a loop started that may have no end (by `clock`); None for one whose end is known and near.
        """
        self.steps += 1
        self.line = line
        if self.steps > self.max_steps or (since is not None and self.clock() - since > self.loop_seconds):
            raise StepLimit(
                f"the loops of this kernel ran {self.steps - 1:,} iterations without an end. Check the condition of "
                "the loop at this line: does every thread reach its end? If it must run this long, try a smaller "
                "input.",
                line=line,
            )
        if self.steps % 16 == 0:
            self.tick()

    def executed(self, line: int, mask: Mask, flops: tuple[int, int, int], leaves: bool = False) -> None:
        """Tell the observer that lanes executed something."""
        if self.observer is not None:
            self.observer.instruction(Instruction(line, mask, self.shape, *flops, leaves=leaves))

    def thread_index(self, axis: str) -> npt.NDArray[np.int32]:
        """threadIdx.x, .y or .z of every lane, (1, 1, 1, T)."""
        key = f"thread {axis}"
        if key not in self.cache:
            lane = np.arange(self.shape[3], dtype=np.int32)
            width, height, _ = self.block
            index = {"x": lane % width, "y": lane // width % height, "z": lane // (width * height)}[axis]
            self.cache[key] = index.astype(np.int32).reshape(1, 1, 1, -1)
        return self.cache[key]  # type: ignore[no-any-return]

    def warp_lane(self) -> npt.NDArray[np.int32]:
        """Number of the lane in its warp, (1, 1, 1, T)."""
        return (np.arange(self.shape[3], dtype=np.int32) % np.int32(self.warp_lanes)).reshape(1, 1, 1, -1)

    def block_index(self, axis: str) -> Any:
        """blockIdx.x, .y or .z of every block; length 1 on the axes where it does not vary."""
        key = f"block {axis}"
        if key not in self.cache:
            place = "zyx".index(axis)
            index = np.arange(self.shape[place], dtype=np.int32) + np.int32(self.origin[place])
            shape = [1, 1, 1, 1]
            shape[place] = -1
            self.cache[key] = index.reshape(shape) if self.grid[2 - place] > 1 else np.int32(0)
        return self.cache[key]

    def grid_index(self, axis: str) -> npt.NDArray[np.int64]:
        """blockIdx * blockDim + threadIdx along an axis, int64."""
        key = f"grid {axis}"
        if key not in self.cache:
            size = np.int64(self.block["xyz".index(axis)])
            block, thread = self.block_index(axis), self.thread_index(axis)
            self.cache[key] = block.astype(np.int64) * size + thread.astype(np.int64)
        return self.cache[key]  # type: ignore[no-any-return]

    def block_number(self) -> npt.NDArray[np.int64]:
        """Number of the block within the batch, (gz, gy, gx, 1)."""
        if "number" not in self.cache:
            self.cache["number"] = np.arange(self.blocks).reshape(*self.shape[:3], 1)
        return self.cache["number"]  # type: ignore[no-any-return]

    def lane_number(self) -> npt.NDArray[np.int64]:
        """Number of the lane within the batch, full shape."""
        if "lane" not in self.cache:
            self.cache["lane"] = np.arange(self.blocks * self.shape[3]).reshape(self.shape)
        return self.cache["lane"]  # type: ignore[no-any-return]

    def index_of(self, value: Value) -> Value:
        """A lane value as int64. The same array gives the same array again, so that its range is known."""
        if value.dtype == np.int64:
            return value
        if not value.ndim:
            return value.astype(np.int64)
        known = self._indices.get(id(value))
        if known is None:
            known = self._remember(self._indices, value, value.astype(np.int64))
        return known[1]

    def range_of(self, index: npt.NDArray[np.int64]) -> tuple[int, int]:
        """Lowest and highest value of an index; remembered for small arrays, which no one changes."""
        known = self._ranges.get(id(index))
        if known is None:
            found = (int(index.min()), int(index.max())) if index.size else (0, -1)
            if index.size > _SMALL:
                return found
            known = self._remember(self._ranges, index, found)
        return known[1]  # type: ignore[no-any-return]

    @staticmethod
    def _remember(memory: dict[int, tuple[Any, Any]], value: Any, found: Any) -> tuple[Any, Any]:
        if len(memory) >= 128:
            memory.clear()
        memory[id(value)] = (value, found)  # holding the array keeps its id its own
        return memory[id(value)]

    def assign(self, slot: int, mask: Mask, value: Value, fresh: bool) -> None:
        """Store a variable for the lanes of `mask`; merge only where other lanes may still need the old value."""
        old = self.variables[slot]
        if fresh or old is UNBOUND or mask is None or mask is self.written[slot] or mask is self.live:
            self.variables[slot], self.written[slot] = value, mask
            return
        self.variables[slot] = merge(mask, value, old)
        if self.written[slot] is not None:
            self.written[slot] = MIXED

    def report(
        self, kind: str, line: int, lanes: Any, message: Callable[[int], str], remedy: str, array: str | None
    ) -> None:
        """Record a finding about the lanes of a mask; `message` gets the number of the first of them."""
        wrong = full(lanes, self.shape)
        first = int(wrong.argmax())
        count = int(np.count_nonzero(wrong))
        z, y, x, lane = (int(n) for n in np.unravel_index(first, self.shape))
        block = (x + self.origin[2], y + self.origin[1], z + self.origin[0])
        finding = Finding(kind, line, message(first), remedy, lane, block, array, count)
        key = (kind, line, array)
        known = self.findings.get(key)
        if known is not None:
            total = known.count + count
            self.findings[key] = Finding(
                kind, line, known.message, known.remedy, known.lane, known.block, known.array, total
            )
        else:
            self.findings[key] = finding
        if self.observer is not None:
            self.observer.finding(finding)
