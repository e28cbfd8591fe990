"""Asynchronous copies on their way to shared memory: what `cp_async` started, and what a wait lets land.

As on a GPU, every thread has its own list of groups. A commit closes the group of the copies that the thread has
started since its last commit; ``wait(n)`` ends when at most n of the thread's newest groups are still on their way.
Only then the values are there, in this simulation as on the card: until then, shared memory holds what it held.

Under observation, each 4-byte word of shared memory knows the copy that is on its way to it, so that an access that
comes too early has a name. Where blocks behave alike, one set of words stands for all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from course.simulator.access import Access, CopyEvent, Site
from course.simulator.source.lanes import DEAD, Mask, State, both, full, without
from course.simulator.source.memory import View, scatter

__all__ = ["AsyncCopies"]

_WORD = 4
"""Bytes of a word: the shortest copy."""


@dataclass
class _Copy:
    """One `cp_async` of many lanes."""

    number: int
    site: Site
    view: View
    element: Any
    values: list[Any]
    """What lands: one value for each element of a lane's copy."""
    width: int
    mask: Mask
    group: Any
    """Groups that its thread had committed before: a number, or one per lane."""
    reads: int
    """Reads of shared memory before it started."""
    words: tuple[int, int]
    """First word, and the one behind the last, that any lane copies to."""
    passed: tuple[int, int] | None = None
    """Line and number of groups of a wait that came after the commit and did not cover this copy."""


class AsyncCopies:
    """The copies of one batch of blocks."""

    def __init__(self) -> None:
        self._pending: list[_Copy] = []
        self._committed: Any = 0
        """Groups that each thread has committed: a number, or one per lane."""
        self._started = 0
        self._reads = 0
        self._owner: npt.NDArray[np.int32] = np.zeros((1, 1, 1, 0), np.int32)
        """Number of the copy on its way to each word, 0 for none: (1, 1, 1, words) or (gz, gy, gx, words)."""

    def start(
        self, state: State, mask: Mask, site: Site, view: View, element: Any, values: list[Any], width: int
    ) -> None:
        """Put a copy of the lanes of `mask` on its way; its `width` bytes a lane are aligned and in bounds."""
        self._started += 1
        copy = _Copy(
            self._started, site, view, element, values, width, mask, self._committed, self._reads, (0, 0)
        )  # fmt: skip
        if state.observer is not None:
            copy.words = _span(state, view, element, width)
            self._mark(state, copy, mask, copy.number)
        self._pending.append(copy)

    def commit(self, state: State, mask: Mask, line: int) -> None:
        """Close the group of the copies that each thread of `mask` has started since its last commit."""
        everyone = mask is None or mask is state.live_kernel
        self._committed = self._committed + (1 if everyone else mask.astype(np.int64))
        if state.observer is not None:
            state.observer.copies(CopyEvent("commit", line, mask, state.shape))

    def wait(self, state: State, mask: Mask, line: int, groups: int) -> None:
        """Let land what the threads of `mask` started, but for their newest `groups` groups."""
        if state.observer is not None:
            state.observer.copies(CopyEvent("wait", line, mask, state.shape))
        still: list[_Copy] = []
        for copy in self._pending:
            covered = copy.group < self._committed - groups
            lanes = both(copy.mask, mask)
            if np.ndim(covered):
                lanes = both(lanes, covered) if covered.any() else DEAD
            elif not covered:
                lanes = DEAD
            if lanes is not DEAD:
                self._land(state, copy, lanes, line)
            rest = copy.mask if lanes is DEAD else DEAD if lanes is copy.mask else without(copy.mask, lanes)
            if rest is not DEAD:
                copy.mask = rest
                if both(rest, mask) is not DEAD and np.any(copy.group < self._committed):
                    copy.passed = (line, groups)
                still.append(copy)
        self._pending = still

    def touched(self, state: State, site: Site, view: View, element: Any, size: int, mask: Mask) -> None:
        """Report an access to words that a copy is on its way to."""
        self._reads += site.kind == "load"
        if not self._pending:
            return
        first, end = _span(state, view, element, size)
        if all(end <= copy.words[0] or copy.words[1] <= first for copy in self._pending):
            return
        words = np.clip(_words(view, element, size), 0, self._owner.shape[3] - 1)
        owners = self._owner.reshape(-1).take(self._at(state, words)).max(axis=0)
        wrong = np.asarray(owners != 0 if mask is None else (owners != 0) & mask)
        if wrong.any():
            lane = int(full(wrong, state.shape).argmax())
            number = int(full(owners, state.shape).flat[lane])
            copy = next(copy for copy in self._pending if copy.number == number)
            kind, why, remedy = self._reason(copy)
            does = {"load": "reads", "store": "writes to", "atomic": "updates"}[site.kind]
            state.report(
                kind, site.line, wrong,
                lambda _: f"{site.text} {does} {view.name} where the copy of line {copy.site.line} has not landed yet"
                f"{why}.", remedy, view.name,
            )  # fmt: skip

    def finish(self, state: State) -> None:
        """Report copies that no thread has committed when the kernel ends."""
        for copy in self._pending:
            lanes = self._uncommitted(copy)
            if lanes is not DEAD:
                state.report(
                    "async-not-committed", copy.site.line, True if lanes is None else lanes,
                    lambda _: "The kernel ends, and this copy belongs to no group: no wait covers it.",
                    "Put cuda.cp_async_commit() after the copies of a tile, where every thread that copies passes it.",
                    copy.view.name,
                )  # fmt: skip

    def _land(self, state: State, copy: _Copy, lanes: Mask, line: int) -> None:
        for place, value in enumerate(copy.values):
            scatter(state, copy.view, copy.element + place, value, lanes)
        if state.observer is None:
            return
        self._mark(state, copy, lanes, 0)
        address = np.asarray(copy.element * copy.view.unit + copy.view.base)
        address = address.reshape(1, 1, 1, 1) if not address.ndim else address
        access = Access(copy.site, copy.width, address, lanes, state.shape, state.warp_lanes, state.origin, state.epoch)
        overlapped = self._reads > copy.reads
        state.observer.copies(CopyEvent("landing", line, lanes, state.shape, access, overlapped))

    def _uncommitted(self, copy: _Copy) -> Mask:
        """Lanes whose copy belongs to no group yet."""
        open_ = np.asarray(copy.group >= self._committed)
        return both(copy.mask, open_) if open_.ndim and open_.any() else copy.mask if open_.all() else DEAD

    def _reason(self, copy: _Copy) -> tuple[str, str, str]:
        """Kind of the finding, why the copy is not there, and what to do."""
        if self._uncommitted(copy) is not DEAD:
            return (
                "async-not-committed", ": it belongs to no group",
                "Put cuda.cp_async_commit() after the copies of a tile: a wait covers committed groups only.",
            )  # fmt: skip
        if copy.passed is not None:
            line, groups = copy.passed
            newest = "newest group" if groups == 1 else f"newest {groups} groups"
            return (
                "async-wrong-group", f": cuda.cp_async_wait({groups}) on line {line} leaves the {newest} on the way",
                "Wait until fewer groups are on their way, or use a tile whose copy has landed.",
            )  # fmt: skip
        return (
            "async-not-waited", ": there was no wait since its commit",
            "Put cuda.cp_async_wait(...), and then cuda.syncthreads(), between the copy and this line.",
        )  # fmt: skip

    # ---- words ---------------------------------------------------------------------------------------------

    def _mark(self, state: State, copy: _Copy, lanes: Mask, number: int) -> None:
        """Write `number` to the words of these lanes; 0 only where the copy is the newest."""
        words = _words(copy.view, copy.element, copy.width)
        self._enlarge(copy.words[1])
        alike = words.shape[1:4] == (1, 1, 1) and (lanes is None or lanes.shape[:3] == (1, 1, 1))
        if not alike and self._owner.shape[:3] != state.shape[:3]:
            self._owner = np.ascontiguousarray(np.broadcast_to(self._owner, (*state.shape[:3], self._owner.shape[3])))
        at = self._at(state, words)
        if lanes is not None:
            shape = np.broadcast_shapes(at.shape, lanes.shape)
            at = np.broadcast_to(at, shape)[np.broadcast_to(lanes, shape)]
        flat = self._owner.reshape(-1)
        flat[at] = number if number else np.where(flat[at] == copy.number, 0, flat[at])

    def _at(self, state: State, words: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Places of words in the flat table, for every block where blocks differ."""
        if self._owner.shape[:3] == (1, 1, 1):
            return words
        return words + state.block_number() * np.int64(self._owner.shape[3])

    def _enlarge(self, end: int) -> None:
        have = self._owner.shape[3]
        if end > have:
            more = np.zeros((*self._owner.shape[:3], max(end, 2 * have) - have), np.int32)
            self._owner = np.concatenate([self._owner, more], axis=3)


def _words(view: View, element: Any, size: int) -> npt.NDArray[np.int64]:
    """Numbers of the words of each lane's access: (words of a lane, gz, gy, gx, T), broadcast."""
    address = np.asarray(element * view.unit + view.base, np.int64)
    address = address.reshape(1, 1, 1, 1) if not address.ndim else address
    steps = np.arange(max(1, size // _WORD)).reshape(-1, 1, 1, 1, 1)
    return address // _WORD + steps


def _span(state: State, view: View, element: Any, size: int) -> tuple[int, int]:
    """First word, and the one behind the last, of the accesses of all lanes."""
    low, high = (element, element) if isinstance(element, int) else state.range_of(element)
    return (low * view.unit + view.base) // _WORD, (high * view.unit + view.base + size - 1) // _WORD + 1
