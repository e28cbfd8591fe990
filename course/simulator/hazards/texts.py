"""What a learner is told about a hazard: what happened, and what to do."""

from __future__ import annotations

from typing import Any

from course.simulator.access import Finding, Site
from course.simulator.hazards.shadow_rules import ATOMIC, LOAD, SAME_INSTRUCTION, STORE

__all__ = ["describe_barrier", "describe_conflict", "describe_uninitialised"]

_DOES = {"load": "reads", "store": "writes", "atomic": "updates"}
_DID = {LOAD: "reads", ATOMIC: "updates"}


def describe_conflict(
    site: Site, thread: Any, other_site: Site, other: Any, scope: int, other_kind: int, count: int
) -> Finding:
    """Two threads that disturb each other. scope: 0 same warp, 1 same block, 2 another block."""
    here, there = f"line {site.line}", f"line {other_site.line}"
    place = f"the same element of {site.array}"
    where = f" of block {thread.block}" if scope < 2 else f" of block {other.block}"
    if other_kind == SAME_INSTRUCTION:
        kind = "lane-conflict" if scope == 0 else _race(site)
        message = (
            f"Threads {thread.lane} and {other.lane}{where} write different values to {place} in one instruction: "
            "which value stays is not defined."
        )
        remedy = "Give each thread its own element, let one thread write, or use cuda.atomic."
    else:
        did = _DID.get(other_kind, "writes")
        first = f"Thread {thread.lane}" + (f" of block {thread.block}" if scope == 2 else "")
        message = (
            f"{first} {_DOES[site.kind]} {site.text} on {here}; thread {other.lane}{where} {did} {place} on {there}"
        )
        if scope == 0:
            kind = "missing-syncwarp"
            message += ", in the same warp, and nothing orders the two lanes."
            remedy = "Lanes of a warp may run apart: put cuda.syncwarp() (or cuda.syncthreads()) between the two."
            if other_site.asynchronous and other_kind == STORE:
                remedy = "A wait is for the copies of its own thread: put cuda.syncthreads() after it."
        elif scope == 1:
            kind = _race(site)
            message += ", in another warp, and no barrier lies between."
            remedy = "Put cuda.syncthreads() between the two, where every thread of the block passes it."
            if other_site.asynchronous and other_kind == STORE:
                remedy = (
                    "A wait is for the copies of its own thread: put cuda.syncthreads() after it, before other threads "
                    "use what was copied."
                )
            elif site.line <= other_site.line:
                remedy += " In a loop, a barrier at the end of each round may be the one that is missing."
        else:
            kind = _race(site)
            message += ", and nothing makes blocks wait for each other."
            remedy = "Give each element to one thread, use cuda.atomic, or split the work into two launches."
    return Finding(kind, site.line, message, remedy, thread.lane, thread.block, site.array, count)


def describe_uninitialised(site: Site, thread: Any, count: int, left: int | None = None) -> Finding:
    """A load of shared memory that no thread has written. left: line where threads left that should have written."""
    message = f"Thread {thread.lane} reads {site.text}, but no thread of its block has written that element."
    remedy = f"Shared memory starts with arbitrary contents: write every element of {site.array} before it is read."
    if left is not None:
        message += f" Threads of the block left the kernel by the return on line {left}, before they stored their part."
        remedy = (
            f"Take the return on line {left} out: let every thread come to the stores (of 0, where it has nothing to "
            "load) and to the barriers, and put its condition around the last store only."
        )
    return Finding("uninitialised-shared", site.line, message, remedy, thread.lane, thread.block, site.array, count)


def describe_barrier(line: int, thread: Any, count: int) -> Finding:
    """A barrier that some threads of a block do not reach."""
    message = f"Thread {thread.lane} of block {thread.block} does not reach the barrier where others of its block wait."
    remedy = "Move cuda.syncthreads() out of the branch or loop that only some threads of the block run."
    return Finding("divergent-barrier", line, message, remedy, thread.lane, thread.block, None, count)


def _race(site: Site) -> str:
    return "shared-race" if site.space == "shared" else "global-race"
