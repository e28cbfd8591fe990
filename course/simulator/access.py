"""What the engine tells the counters and the hazard checks about one memory instruction.

Lane values live on the axes (grid z, grid y, grid x, lanes of a block), and stay *broadcast*: an
axis on which a value does not vary has length 1. An access whose addresses and mask do not depend
on the block is therefore counted once and weighted by the number of blocks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

Space = Literal["global", "shared", "local", "constant"]
Kind = Literal["load", "store", "atomic"]
Shape = tuple[int, int, int, int]


@dataclass(frozen=True)
class Site:
    """One place in the kernel's source that reads or writes memory."""

    index: int
    """Number of the site in its kernel, in source order."""
    line: int
    """Line in the file (or cell) of the kernel, 1-based."""
    column: int
    text: str
    """The access as written, e.g. ``x[i * stride]``."""
    space: Space
    kind: Kind
    array: str
    """Name of the array in the kernel."""
    function: str
    """Name of the kernel or device function that holds the line."""
    asynchronous: bool = False
    """Whether this is a side of a `cp_async`: the load from global, or the store to shared memory."""


@dataclass(slots=True)
class Access:
    """One warp-wide memory instruction, executed by every block of a batch at once."""

    site: Site
    size: int
    """Bytes one lane moves with this instruction: 1, 2, 4, 8 or 16."""
    addresses: npt.NDArray[np.int64]
    """Byte addresses, broadcastable to `shape`. Global: device addresses (arrays are 256-byte aligned).
    Shared and local: bytes from the start of the block's (thread's) memory."""
    mask: npt.NDArray[np.bool_] | None
    """Active lanes, broadcastable to `shape`; None: every lane of every block."""
    shape: Shape
    """(gz, gy, gx, T): the blocks of this batch and the lanes of a block, T a multiple of `warp_lanes`."""
    warp_lanes: int
    block_origin: tuple[int, int, int]
    """(z, y, x) index in the grid of the batch's first block."""
    epoch: int | npt.NDArray[np.int64]
    """Barriers passed so far: a number, or an array broadcastable to `shape` when blocks differ."""
    values: npt.NDArray[Any] | None = None
    """What a store writes, broadcastable to `shape`."""


@dataclass(frozen=True)
class ArrayInfo:
    """One array that lives in memory during a launch."""

    name: str
    """Name of the kernel's parameter, or of the variable that a shared or local array was given."""
    space: Space
    address: int
    """First byte: device address (global, constant) or bytes from the start of the block's (thread's) memory."""
    nbytes: int
    dtype: np.dtype[Any]
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Launch:
    """What is known before the first block runs. Everything a student would write is in (x, y, z) order."""

    kernel: str
    filename: str
    source: tuple[str, ...]
    """Source lines of the kernel, without line ends."""
    first_line: int
    """Line number of ``source[0]`` in the file or cell."""
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    warp_lanes: int
    sites: tuple[Site, ...]
    """Every site of the kernel and its device functions; ``sites[n].index == n``."""
    arrays: tuple[ArrayInfo, ...]
    """Global and constant arrays, then the static shared arrays, then the local ones."""
    shared_bytes: int
    """Shared memory of a block, static and dynamic."""


@dataclass(frozen=True)
class Batch:
    """Blocks that run together. Shared and local memory is new, and `epoch` starts at 0, in every batch."""

    origin: tuple[int, int, int]
    """(z, y, x) index in the grid of the first block."""
    shape: Shape
    """(gz, gy, gx, T)."""
    exists: npt.NDArray[np.bool_] | None
    """Lanes that exist, (1, 1, 1, T); None: all do. False pads the last warp of a block."""


@dataclass(slots=True)
class Barrier:
    """``syncthreads`` (and its votes), ``syncwarp``, or a ``threadfence``, reached by some lanes."""

    line: int
    kind: Literal["block", "warp", "fence"]
    mask: npt.NDArray[np.bool_] | None
    """Lanes that arrive, broadcastable to `shape`; None: every lane of every block."""
    live: npt.NDArray[np.bool_] | None
    """Lanes that have not left the kernel yet. A lane in `live` but not in `mask` of a block with an arriving
    lane makes the barrier divergent."""
    shape: Shape
    block_origin: tuple[int, int, int]
    epoch: int | npt.NDArray[np.int64]
    """Epoch before the barrier. A block barrier adds 1 for the lanes in `mask`; the others leave it."""


@dataclass(slots=True)
class CopyEvent:
    """What happens to asynchronous copies after their start: a commit, a wait, or the landing of some of them."""

    kind: Literal["commit", "wait", "landing"]
    line: int
    """Line of the commit or wait."""
    mask: npt.NDArray[np.bool_] | None
    """Lanes that execute it, or whose copies land."""
    shape: Shape
    access: Access | None = None
    """Of a landing: the store to shared memory, which was counted when the copy started."""
    overlapped: bool = False
    """Of a landing: whether its block has read shared memory since the copy started."""


@dataclass(slots=True)
class Instruction:
    """Statements and expressions executed: a weight for divergence, and the arithmetic of one lane."""

    line: int
    mask: npt.NDArray[np.bool_] | None
    """Lanes that execute it, broadcastable to `shape`; None: all."""
    shape: Shape
    flops16: int
    """Floating-point operations of each active lane, by precision. A multiply-add counts as two."""
    flops32: int
    flops64: int
    count: int = 1
    """Instructions that each warp executed: more than one where an engine tells several of a line at once."""
    leaves: bool = False
    """Whether these lanes leave the kernel here: a `return`."""


@dataclass(frozen=True)
class Finding:
    """Something wrong in a kernel, and what to do about it."""

    kind: str
    """Short name, such as ``out-of-bounds``, ``negative-index``, ``misaligned``."""
    line: int
    message: str
    """What happened, in one sentence."""
    remedy: str
    """What to do."""
    lane: int | None = None
    """Index in its block of the first thread at fault: x + block.x * (y + block.y * z)."""
    block: tuple[int, int, int] | None = None
    """(x, y, z) of its block."""
    array: str | None = None
    count: int = 1
    """Lanes (or events) at fault in this launch."""


class Observer(Protocol):
    """What a launch tells whoever counts. All methods are called in the order of execution."""

    def begin(self, launch: Launch) -> None:
        """Start of a launch."""

    def batch(self, batch: Batch) -> None:
        """The next blocks start."""

    def access(self, access: Access) -> None:
        """One memory instruction. Arrays belong to the engine: use them now, do not keep or change them."""

    def barrier(self, barrier: Barrier) -> None:
        """A barrier was reached."""

    def copies(self, event: CopyEvent) -> None:
        """Something happened to copies of `cp_async`. Only told to observers of kernels that have one."""

    def instruction(self, instruction: Instruction) -> None:
        """A statement (with its unconditional expressions), or a conditional part of one, was executed."""

    def finding(self, finding: Finding) -> None:
        """Take what only the engine can see: out of bounds, negative index, misaligned wide access.

        Reported once per execution of a faulty access, with its count of lanes; add up the counts of equal
        (kind, line, array).
        """

    def end(self) -> None:
        """The launch is over (also after an error or an interrupt)."""
