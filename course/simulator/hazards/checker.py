"""Finds what is wrong in a kernel even when its result is right: races, missing barriers, unwritten memory.

`Hazards` is an observer of the engine. Lockstep execution hides races, so every store (and load, where it
matters) is compared with a shadow of the memory; shadow_rules has the rule. Decisions worth knowing:

- Two threads that store the *same* value in one instruction, or the same constant at any time, are no
  race (``found[0] = 1``); compute-sanitizer's racecheck shows those as information only.
- The lanes of a warp may run apart (Volta and later): reading what another lane of the warp has stored
  needs a ``syncwarp`` between. This is checked in shared memory, and called "missing-syncwarp".
- Different blocks are never ordered: one thread's store and another block's plain access to the same word
  are a race, unless the kernel uses ``threadfence``: then it has a protocol of its own, and plain
  accesses of different threads to global memory are left alone.
- Shared memory is checked once for all blocks that behave alike.
- An asynchronous copy is compared as a store of its thread when it starts (others may still read what it will
  overwrite), and entered as one again when it lands, so that other threads need a barrier after the *wait*. What
  touches memory between the two is found by the engine (course.simulator.async_copies).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from course.simulator.access import Access, Barrier, Batch, CopyEvent, Finding, Instruction, Launch, Site
from course.simulator.hazards.shadow import MAX_SERIAL, SHADOW, BlockClasses, GlobalShadow, Shadow, value_bytes
from course.simulator.hazards.shadow_rules import SAME_INSTRUCTION, STORE, UNINITIALISED
from course.simulator.hazards.texts import describe_barrier, describe_conflict, describe_uninitialised
from course.simulator.rows import Lanes, MaskRows, Masks, classify, squeeze

__all__ = ["Hazards", "Thread"]

Integers = npt.NDArray[np.int64]
_KINDS = {"load": 0, "store": 1, "atomic": 2}
_MAX_SITES = 1023


class Thread(NamedTuple):
    """A thread of the launch."""

    lane: int
    block: tuple[int, int, int]
    """(x, y, z)."""


class Hazards:
    """Checks one launch. After `end`, read `findings`."""

    def __init__(self, *, masks: Masks | None = None) -> None:
        self._masks = masks if masks is not None else Masks()
        self._found: dict[tuple[object, ...], Finding] = {}

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What was found, in the order in which to mend it; equal findings are one, with their count.

        The barrier that ends a race between warps orders the lanes of each warp as well, so what that race would say
        again about the same store is left out. Lanes of one warp come last, everything else by line.
        """
        races = {(found.array, other) for (kind, _, other, *_), found in self._found.items() if kind == "shared-race"}
        left = [found for (kind, _, other, *_), found in self._found.items()
                if kind != "missing-syncwarp" or (found.array, other) not in races]  # fmt: skip
        return tuple(sorted(left, key=lambda f: (f.kind == "missing-syncwarp", f.line, f.kind, f.message)))

    def begin(self, launch: Launch) -> None:
        """Start checking a launch."""
        self._launch = launch
        self._found = {}
        self._global = GlobalShadow(launch)
        self._shared_atomics = any(s.space == "shared" and s.kind == "atomic" for s in launch.sites)
        self._table = np.zeros((13, min(len(launch.sites), _MAX_SITES + 1) or 1, 3), np.int64)
        self._constants: dict[int, bytes | None] = {}
        self._fenced = self._landing = False
        self._serial = 1

    def batch(self, batch: Batch) -> None:
        """Blocks start with fresh shared memory."""
        self._batch = batch
        count = int(np.prod(batch.shape[:3]))
        self._threads = np.zeros((2, count, 3), np.int64)  # see shadow_rules.check; for global and shared memory
        z, y, x = (np.arange(n) + o for n, o in zip(batch.shape[:3], batch.origin, strict=True))
        grid = self._launch.grid
        self._threads[0, :, 0] = ((z[:, None, None] * grid[1] + y[:, None]) * grid[0] + x).ravel()
        shadow = Shadow(0, self._launch.shared_bytes, atomics=self._shared_atomics)
        self._classes = BlockClasses(count, shadow)
        self._split_by: MaskRows | None = None
        self._left: dict[int, npt.NDArray[np.bool_]] = {}

    def access(self, access: Access, lanes: Lanes | None = None) -> None:
        """Check one memory instruction against the past, and remember it.

        `lanes` is ``masks.lanes(access)``, where the caller has it already.
        """
        site = access.site
        values = None
        if site.kind == "store":
            self._serial += 1
            values = squeeze(np.asarray(access.values)) if access.values is not None else None
            self._note_constant(site, values)
        if site.space == "shared" or (site.space == "global" and self._global.watches(site.array)):
            lanes = lanes if lanes is not None else self._masks.lanes(access)
            if lanes.rows.totals[0]:
                (self._check_shared if site.space == "shared" else self._check_global)(access, lanes, values)
        if self._serial >= MAX_SERIAL:
            self._start_serials_again()

    def barrier(self, barrier: Barrier) -> None:
        """A barrier orders what a block did before it, and must be reached by all its threads."""
        self._serial += 1
        if barrier.kind == "fence":
            self._fenced = True
            return
        serials = self._threads[:, :, 1 if barrier.kind == "block" else 2]
        if barrier.mask is None:
            serials[:] = self._serial
            return
        shape = barrier.shape[:3]
        arrives = squeeze(barrier.mask)
        any_arrive = np.broadcast_to(arrives.any(axis=3), shape).ravel()
        serials[:, any_arrive] = self._serial
        self._classes.split(any_arrive.astype(np.int64))
        if barrier.kind == "warp":
            return
        if barrier.mask is barrier.live:
            return
        live = barrier.live if barrier.live is not None else self._batch.exists
        absent = ~arrives if live is None else squeeze(live) & ~arrives
        if absent.any():
            absent = np.broadcast_to(absent, (*np.broadcast_shapes(absent.shape[:3], shape), absent.shape[3]))
            wrong = absent & any_arrive.reshape((*shape, 1))
            if wrong.any():
                first = int(np.argmax(wrong.any(axis=3)))
                thread = self._thread_of(first, int(np.argmax(wrong.reshape(-1, wrong.shape[3])[first])))
                times = barrier.shape[3] // wrong.shape[3]
                self._add(describe_barrier(barrier.line, thread, int(wrong.sum()) * times), barrier.line)

    def copies(self, event: CopyEvent, lanes: Lanes | None = None) -> None:
        """Copies that land are stores of now; commits and waits order nothing between threads."""
        access = event.access
        if access is None:
            return
        self._serial += 1
        lanes = lanes if lanes is not None else self._masks.lanes(access)
        if lanes.rows.totals[0]:
            self._landing = True
            self._check_shared(access, lanes, None)
            self._landing = False

    def instruction(self, instruction: Instruction) -> None:
        """Arithmetic disturbs nobody. Threads that leave early are remembered: others may wait for their stores."""
        if instruction.leaves and instruction.mask is not None:
            shape = instruction.shape[:3]
            some = np.broadcast_to(squeeze(instruction.mask).any(axis=3), shape).ravel()
            known = self._left.get(instruction.line)
            self._left[instruction.line] = some if known is None else known | some

    def finding(self, finding: Finding) -> None:
        """Keep what the engine found itself."""
        self._add(finding, finding.array)

    def end(self) -> None:
        """Nothing to close."""

    def _check_global(self, access: Access, lanes: Lanes, values: npt.NDArray[Any] | None) -> None:
        pairs = lanes.rows.blocks(lanes.grid)
        found = self._global.find(_first_active(lanes, pairs))
        if found is not None:
            block = np.arange(len(pairs))
            cases = np.stack([pairs[:, 0], pairs[:, 1], 0 * block, block, 0 * block + 1], axis=1)
            shadow, reads_matter = found
            self._check(access, lanes, cases, shadow, reads_matter, self._threads[0], values)

    def _check_shared(self, access: Access, lanes: Lanes, values: npt.NDArray[Any] | None) -> None:
        classes, rows = self._classes, lanes.rows
        pairs = None
        if len(lanes.table) > 1 or rows.classes is not None:
            pairs = rows.blocks(lanes.grid)
            if rows is not self._split_by:  # once is enough: classes only become finer
                classes.split(pairs[:, 1])
                self._split_by = rows
            if len(lanes.table) > 1:
                classes.split(classify(np.where(rows.rows[pairs[:, 1]], lanes.table[pairs[:, 0]], 0))[1])
        if values is not None and values.shape[:3] != (1, 1, 1) and len(classes.cases) < len(classes.members):
            leaders = pairs[classes.cases[:, 3]] if pairs is not None else np.zeros((1, 2), np.int64)
            if any(_repeats(lanes.table[a][rows.rows[m]]) for a, m in leaders):
                classes.split(np.arange(len(self._threads[1])))  # who wins depends on each block's values
        cases = classes.cases
        if pairs is not None:
            cases = cases.copy()
            cases[:, :2] = pairs[cases[:, 3]]
        self._check(access, lanes, cases, classes.shadow, True, self._threads[1], values)

    def _check(
        self,
        access: Access,
        lanes: Lanes,
        cases: Integers,
        shadow: Shadow,
        reads_matter: bool,
        threads: Integers,
        values: npt.NDArray[Any] | None,
    ) -> None:
        site = access.site
        shadow.narrow(access.size)
        how = np.array(
            [
                _KINDS[site.kind],
                access.warp_lanes,
                *shadow.geometry(access.size),
                self._serial,
                min(site.index, _MAX_SITES),
                reads_matter,
                site.space == "shared",
            ],
            np.int64,
        )
        stored = value_bytes(values, access.shape[:3])
        batch = (lanes.table, lanes.rows.rows, cases)
        memory = (shadow.state, shadow.lines)
        conflicts = SHADOW.call("check", *batch, *memory, threads, how, stored, self._table)
        if conflicts and self._landing:  # whoever came between start and landing was told about the copy already
            self._table[:] = 0
        elif conflicts:
            self._report(site, access.shape[3])

    def _report(self, site: Site, lanes: int) -> None:
        for row, other_index in zip(*np.nonzero(self._table[:, :, 0]), strict=True):
            count, flat, other = self._table[row, other_index].tolist()
            self._table[row, other_index] = 0
            thread = self._thread_of(*divmod(flat, lanes))
            other_site = self._launch.sites[other_index]
            if row == UNINITIALISED:
                left = self._left_before_storing(site, flat // lanes)
                self._add(describe_uninitialised(site, thread, count, left), site.line, site.array)
                continue
            kind = row % 4
            if kind == STORE and site.kind == "store" and self._same_constant(site, other_site):
                continue
            if site.space == "global" and self._fenced and kind != SAME_INSTRUCTION:
                continue
            if site.space == "global":
                number, lane = divmod(other, lanes)
                grid = self._launch.grid
                at = (number % grid[0], number // grid[0] % grid[1], number // (grid[0] * grid[1]))
                other_thread = Thread(lane, at)
            else:
                other_thread = Thread(other, thread.block)
            finding = describe_conflict(site, thread, other_site, other_thread, row // 4, kind, count)
            self._add(finding, other_site.line, site.array)

    def _left_before_storing(self, load: Site, block: int) -> int | None:
        """Line of the `return` by which threads of the block left before a store to the array that others read."""
        stores = [
            s.line
            for s in self._launch.sites
            if s.kind == "store" and (s.space, s.array, s.function) == ("shared", load.array, load.function)
        ]
        return next((line for line in sorted(self._left)
                     if self._left[line][block] and line < max(stores, default=0)), None)  # fmt: skip

    def _thread_of(self, block: int, lane: int) -> Thread:
        """The thread at `lane` of block number `block` of the batch."""
        z, y, x = np.unravel_index(block, self._batch.shape[:3])
        oz, oy, ox = self._batch.origin
        return Thread(lane, (int(x) + ox, int(y) + oy, int(z) + oz))

    def _add(self, finding: Finding, *more: object) -> None:
        key = (finding.kind, finding.line, *more)
        known = self._found.get(key)
        self._found[key] = finding if known is None else replace(known, count=known.count + finding.count)

    def _note_constant(self, site: Site, values: npt.NDArray[Any] | None) -> None:
        value = values.tobytes() if values is not None and values.size == 1 else None
        if self._constants.setdefault(site.index, value) != value:
            self._constants[site.index] = None

    def _same_constant(self, one: Site, other: Site) -> bool:
        value = self._constants.get(one.index)
        return value is not None and value == self._constants.get(other.index)

    def _start_serials_again(self) -> None:
        self._global.forget_order()
        self._classes.shadow.forget_order()
        self._serial = 2
        self._threads[:, :, 1:] = 1


def _first_active(lanes: Lanes, pairs: Integers) -> int:
    """Address of an active lane of the batch."""
    mask_row = int(np.argmax(lanes.rows.active.any(axis=1)))
    block = int(np.argmax(pairs[:, 1] == mask_row))
    return int(lanes.table[pairs[block, 0], np.argmax(lanes.rows.rows[mask_row])])


def _repeats(addresses: Integers) -> bool:
    """Say if two lanes have the same address."""
    return len(np.unique(addresses)) < len(addresses)
