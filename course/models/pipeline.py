"""Loading tile k + 1 while tile k is computed: when it pays, and what it costs.

The model: a block works through `tiles` tiles. The memory system brings tiles in order, at most
`loads_at_once` at a time, each in its own time. The threads issue the copies (which takes them `issue`),
wait for a tile, meet at a barrier (`barrier`) and compute. Shared memory has `stages` buffers.

- one stage: issue, wait, barrier, compute, and a second barrier before the buffer is overwritten;
- more stages: `stages` - 1 copies are issued ahead; each step waits for its tile, passes one barrier, issues
  the copy that is `stages` - 1 tiles ahead (the barrier proves its buffer free) and computes.

Times are in any one unit. The legal `cp.async` copies are those of the PTX ISA, "cp.async".
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from course.cards import Card, SmLimits, limits

from .occupancy import shared_bytes_for

__all__ = [
    "COPY_BYTES",
    "CopyCheck",
    "Schedule",
    "async_copy",
    "largest_stages",
    "pipeline",
    "pipeline_time",
    "widest_copy",
]

Floats = npt.NDArray[np.float64]
Cache = Literal["ca", "cg"]

COPY_BYTES: dict[Cache, tuple[int, ...]] = {"ca": (4, 8, 16), "cg": (16,)}
"""Bytes that one thread can copy: through all caches ("ca"), or past L1 ("cg")."""


@dataclass(frozen=True)
class Schedule:
    """When every tile is loaded and computed; each array has one entry per tile."""

    stages: int
    load_start: Floats
    load_end: Floats
    compute_start: Floats
    compute_end: Floats
    waits: int
    """Times that the threads wait for a copy to land (`wait_group`): one for every tile."""
    barriers: int
    serial_time: float
    """Time of the same tiles with one stage."""
    shared_bytes: int
    """Shared memory of a block: stages x bytes of one tile."""

    @property
    def tiles(self) -> int:
        """Tiles worked through."""
        return len(self.load_start)

    @property
    def total_time(self) -> float:
        """From the first issue to the end of the last step."""
        return float(self.compute_end[-1])

    @property
    def speed_up(self) -> float:
        """Serial time / total time."""
        return self.serial_time / self.total_time if self.total_time else 1.0

    @property
    def idle_time(self) -> float:
        """Time in which the threads do not compute."""
        return self.total_time - float((self.compute_end - self.compute_start).sum())

    def __str__(self) -> str:
        return (
            f"{self.tiles} tiles in {self.stages} stage{'s' * (self.stages != 1)}: time {self.total_time:g} instead "
            f"of {self.serial_time:g}, {self.speed_up:.4g} times as fast, {self.waits} waits and "
            f"{self.barriers} barriers."
        )


def pipeline(
    tiles: int,
    load: npt.ArrayLike,
    compute: npt.ArrayLike,
    stages: int = 2,
    *,
    barrier: float = 0,
    issue: float = 0,
    loads_at_once: int = 1,
    tile_bytes: int = 0,
) -> Schedule:
    """Schedule the tiles.

    load, compute: time of one tile, a number or one number per tile.
    stages: buffers in shared memory; 1 loads and computes in turn.
    barrier, issue: time of one barrier, and of issuing the copies of one tile.
    loads_at_once: tiles that the memory system brings at the same time, each as fast as alone. 1 is a
    bandwidth-bound load; more is a latency-bound one, which is what a third stage is for.
    tile_bytes: shared memory of one stage.
    """
    if tile_bytes:
        _count("tile_bytes", tile_bytes)
    for name, count in (("tiles", tiles), ("stages", stages), ("loads_at_once", loads_at_once)):
        _count(name, count)
    loading, computing = _times("load", load, tiles), _times("compute", compute, tiles)
    barrier, issue = float(_times("barrier", barrier, 1)[0]), float(_times("issue", issue, 1)[0])
    schedule = _run(loading, computing, stages, barrier, issue, loads_at_once)
    serial = schedule if stages == 1 else _run(loading, computing, 1, barrier, issue, loads_at_once)
    return Schedule(
        stages=stages,
        load_start=schedule[0],
        load_end=schedule[1],
        compute_start=schedule[2],
        compute_end=schedule[3],
        waits=tiles,
        barriers=2 * tiles - 1 if stages == 1 else tiles,
        serial_time=float(serial[3][-1]),
        shared_bytes=stages * tile_bytes,
    )


def _run(
    load: Floats, compute: Floats, stages: int, barrier: float, issue: float, loads_at_once: int
) -> tuple[Floats, Floats, Floats, Floats]:
    tiles = len(load)
    start, end, begin, done = (np.zeros(tiles) for _ in range(4))
    channels = [0.0] * min(loads_at_once, tiles)  # when each is free again; a heap
    ahead = max(stages - 1, 1)

    def copy(tile: int, now: float) -> float:
        """Issue the copy of a tile; returns when the threads go on."""
        issued = now + issue
        start[tile] = max(issued, heapq.heappop(channels))
        end[tile] = start[tile] + load[tile]
        heapq.heappush(channels, float(end[tile]))
        return issued

    now = 0.0
    landed = 0.0
    for tile in range(min(ahead, tiles)):
        now = copy(tile, now)
    for tile in range(tiles):
        if stages == 1 and tile:
            now = copy(tile, now + barrier)  # the buffer is free only when all threads have computed
        landed = max(landed, end[tile])  # wait_group waits for the older copies too
        now = max(now, landed) + barrier
        if stages > 1 and tile + ahead < tiles:
            now = copy(tile + ahead, now)
        begin[tile] = now
        now += compute[tile]
        done[tile] = now
    return start, end, begin, done


def pipeline_time(
    tiles: npt.ArrayLike, load: npt.ArrayLike, compute: npt.ArrayLike, stages: npt.ArrayLike = 2
) -> Floats:
    """Time of equal tiles without barriers and issue costs; arrays welcome.

    One stage: tiles x (load + compute). Two or more: load + (tiles - 1) x max(load, compute) + compute.
    """
    count, buffers = np.asarray(tiles), np.asarray(stages)
    for name, numbers in (("tiles", count), ("stages", buffers)):
        if not np.issubdtype(numbers.dtype, np.integer) or (numbers < 1).any():
            raise ValueError(f"{name} is {numbers}: expected whole numbers of 1 or more.")
    loading, computing = (_not_negative(name, times) for name, times in (("load", load), ("compute", compute)))
    overlapped = loading + (count - 1) * np.maximum(loading, computing) + computing
    return np.asarray(np.where(buffers == 1, count * (loading + computing), overlapped))


def largest_stages(
    of: str | Card | SmLimits,
    tile_bytes: int,
    blocks_per_sm: int = 1,
    *,
    threads_per_block: int = 256,
    registers_per_thread: int = 32,
) -> int:
    """Most stages of so many bytes each that leave `blocks_per_sm` blocks resident; 0 if not even one does."""
    _count("tile_bytes", tile_bytes)
    budget = shared_bytes_for(
        of, blocks_per_sm, threads_per_block=threads_per_block, registers_per_thread=registers_per_thread
    )
    return budget // tile_bytes


@dataclass(frozen=True)
class CopyCheck:
    """Whether one `cp.async` of one thread is legal; `problems` is empty if it is."""

    bytes_per_thread: int
    cache: Cache
    problems: tuple[str, ...]

    @property
    def legal(self) -> bool:
        """Whether the copy can be written like this."""
        return not self.problems

    def __str__(self) -> str:
        name = f"cp.async.{self.cache} of {self.bytes_per_thread} B"
        return f"{name} is legal." if self.legal else f"{name} is not legal: {'; '.join(self.problems)}."


def async_copy(
    bytes_per_thread: int,
    global_address: int = 0,
    shared_address: int = 0,
    *,
    cache: Cache = "ca",
    of: str | Card | SmLimits | None = None,
) -> CopyCheck:
    """Check one thread's `cp.async`: its width, the alignment of both addresses and, with `of`, the card."""
    if cache not in COPY_BYTES:
        raise ValueError(f'cache is {cache!r}: expected "ca" or "cg".')
    problems = []
    if bytes_per_thread not in COPY_BYTES[cache]:
        widths = ", ".join(map(str, COPY_BYTES[cache]))
        problems.append(f"the width must be one of {widths} bytes" if cache == "ca" else f"cg copies {widths} B only")
    else:
        for place, address in (("global", global_address), ("shared", shared_address)):
            if address < 0:
                raise ValueError(f"{place}_address is {address}: expected 0 or more.")
            if address % bytes_per_thread:
                problems.append(f"the {place} address is {address % bytes_per_thread} B past a multiple of the width")
    if of is not None and not (sm := limits(of)).has_async_copy:
        problems.append(f"compute capability {sm.compute_capability} has no cp.async, which begins with 8.0")
    return CopyCheck(bytes_per_thread, cache, tuple(problems))


def widest_copy(row_bytes: int, alignment_bytes: int) -> int:
    """Widest legal copy for rows of so many bytes that start at multiples of `alignment_bytes`; 0 if there is none.

    Every copy must be whole, and every address a multiple of the width.
    """
    for name, number in (("row_bytes", row_bytes), ("alignment_bytes", alignment_bytes)):
        _count(name, number)
    fitting = [width for width in COPY_BYTES["ca"] if row_bytes % width == 0 and alignment_bytes % width == 0]
    return max(fitting, default=0)


def _count(name: str, value: int) -> None:
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{name} is {value!r}: expected a whole number of 1 or more.")


def _times(name: str, values: npt.ArrayLike, tiles: int) -> Floats:
    array = _not_negative(name, values)
    if array.shape not in ((), (tiles,)):
        raise ValueError(f"{name} has shape {array.shape}: expected one time, or one for each of {tiles} tiles.")
    return np.broadcast_to(array, (tiles,))


def _not_negative(name: str, values: npt.ArrayLike) -> Floats:
    array = np.asarray(values, np.float64)
    if not (np.isfinite(array).all() and (array >= 0).all()):
        raise ValueError(f"{name} is {values!r}: expected finite times of 0 or more.")
    return array
