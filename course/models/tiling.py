"""What tiles in shared memory save and cost: matrix products and transposes.

A block of T x T threads computes a T x T tile of C = A B. At every step it stages one T x T tile of A and one
of B, then every thread does T multiply-adds from shared memory: each staged element serves T threads. All
counts are at source level, as the kernel is written (a compiler may merge shared loads of an unpadded
tile into wider ones), and all per-request costs come from `coalescing` and `banks`, warp by warp.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from course.cards import Card, SmLimits

from .banks import Tile, wavefronts
from .coalescing import SECTOR_BYTES, WARP_LANES, Integers, Mask, coalesce, index_addresses, thread_indices
from .occupancy import Occupancy, occupancy

__all__ = [
    "Matmul",
    "TileSweep",
    "Transpose",
    "arithmetic_intensity",
    "bytes_per_fma",
    "matmul",
    "tile_sweep",
    "transpose",
]

Floats = npt.NDArray[np.float64]
Number = TypeVar("Number", np.int64, np.bool_)


def bytes_per_fma(tile: npt.ArrayLike, element_bytes: int = 4) -> Floats:
    """Bytes staged from global memory for one multiply-add: two elements, each used by `tile` threads.

    tile = 1 is the naive product, which stages nothing. A tile of T x T outputs with several outputs a
    thread (register tiling) counts as T.
    """
    side = np.asarray(tile)
    if not np.issubdtype(side.dtype, np.integer) or (side < 1).any():
        raise ValueError(f"tile is {tile!r}: expected whole numbers of 1 or more.")
    return np.asarray(2 * element_bytes / side)


def arithmetic_intensity(tile: npt.ArrayLike, element_bytes: int = 4) -> Floats:
    """FLOP per staged byte of a tiled matrix product: T / 4 for floats (a multiply-add is two FLOP)."""
    return np.asarray(2 / bytes_per_fma(tile, element_bytes))


@dataclass(frozen=True)
class Matmul:
    """A tiled product of two size x size matrices, T x T threads a block; all counts are for the whole launch."""

    size: int
    tile: int
    pad: int
    element_bytes: int
    global_load_requests: int
    global_load_sectors: int
    shared_store_requests: int
    shared_store_wavefronts: int
    shared_load_requests: int
    shared_load_wavefronts: int

    @property
    def threads_per_block(self) -> int:
        """One thread for each output."""
        return self.tile**2

    @property
    def shared_bytes(self) -> int:
        """Shared memory of a block: a tile of A and a tile of B, with their pads."""
        return 2 * Tile(self.tile, self.tile, self.pad, self.element_bytes).shared_bytes

    @property
    def flop(self) -> int:
        """Two for every multiply-add."""
        return 2 * self.size**3

    @property
    def staged_bytes(self) -> int:
        """Bytes requested from global memory by the staging loads."""
        return 2 * self.size**3 // self.tile * self.element_bytes

    @property
    def intensity(self) -> float:
        """FLOP / staged bytes; the DRAM intensity is higher where the caches hold tiles."""
        return self.flop / self.staged_bytes

    @property
    def barriers_per_block(self) -> int:
        """Two at every step: after the stores, so that the tile is whole, and before the next ones overwrite it."""
        return 2 * (self.size // self.tile)

    def __str__(self) -> str:
        return (
            f"Tiles of {self.tile} x {self.tile}: {self.intensity:.4g} FLOP per staged byte, {self.shared_bytes} B of "
            f"shared memory a block, {self.global_load_sectors / self.global_load_requests:.4g} sectors a request, "
            f"{self.shared_store_wavefronts / self.shared_store_requests:.4g} wavefronts a store and "
            f"{self.shared_load_wavefronts / self.shared_load_requests:.4g} a load."
        )


def matmul(size: int, tile: int, pad: int = 0, element_bytes: int = 4) -> Matmul:
    """Count a tiled product C = A B of size x size matrices; `size` must be a multiple of `tile`, up to 32."""
    _check_tile(tile)
    if size < 1 or size % tile:
        raise ValueError(f"size is {size}: expected a multiple of the tile, {tile}.")
    shape = Tile(tile, tile, pad, element_bytes)
    steps = (size // tile) ** 3  # blocks x steps of each
    x, y, exists = thread_indices((tile, tile))
    # Every tile of a matrix is staged once by each block beside it. Where it starts in its sector decides its cost.
    corner = np.arange(0, size, tile)
    starts, tiles = np.unique(
        (corner[:, np.newaxis] * size + corner) * element_bytes % SECTOR_BYTES, return_counts=True
    )
    within = np.where(exists, y * size + x, 0)
    sectors = requests = 0
    for start, times in zip(starts.tolist(), tiles.tolist(), strict=True):
        staged = coalesce(index_addresses(within, element_bytes, base=start), element_bytes, exists)
        requests, sectors = requests + times * staged.requests, sectors + times * int(staged.sectors.sum())
    address, _ = shape.threads((tile, tile))
    stores = wavefronts(address, element_bytes, "store", exists)

    loads = 0
    for step in range(tile):  # a[y][step] and b[step][x]
        for row, column in ((y, np.full_like(x, step)), (np.full_like(y, step), x)):
            address = shape.addresses(np.where(exists, row, 0), np.where(exists, column, 0))
            loads += int(wavefronts(address, element_bytes, "load", exists).wavefronts.sum())
    return Matmul(
        size=size,
        tile=tile,
        pad=pad,
        element_bytes=element_bytes,
        global_load_requests=2 * (size // tile) * requests,
        global_load_sectors=2 * (size // tile) * sectors,
        shared_store_requests=2 * steps * stores.instructions,
        shared_store_wavefronts=2 * steps * int(stores.wavefronts.sum()),
        shared_load_requests=2 * steps * tile * len(x),
        shared_load_wavefronts=steps * loads,
    )


@dataclass(frozen=True)
class Transpose:
    """A transpose of a rows x columns matrix; all counts are for the whole launch."""

    plan: str
    rows: int
    columns: int
    shared_bytes: int
    """Shared memory of a block."""
    load_requests: int
    load_sectors: int
    store_requests: int
    store_sectors: int
    shared_store_wavefronts: int
    shared_load_wavefronts: int
    shared_requests: int
    """Shared stores: one for each global load. There is a shared load for each global store."""

    @property
    def conflicts(self) -> int:
        """Shared wavefronts beyond one a request."""
        if not self.shared_requests:
            return 0
        return self.shared_store_wavefronts + self.shared_load_wavefronts - self.load_requests - self.store_requests

    def __str__(self) -> str:
        return (
            f"Transpose {self.plan}: {self.load_sectors / self.load_requests:.4g} sectors a load, "
            f"{self.store_sectors / self.store_requests:.4g} a store, {self.conflicts} extra shared wavefronts, "
            f"{self.shared_bytes} B of shared memory a block."
        )


def transpose(
    rows: int,
    columns: int,
    *,
    tile: int | None = 32,
    pad: int = 0,
    block_rows: int = 8,
    element_bytes: int = 4,
) -> Transpose:
    """Count out[x][y] = in[y][x], through a tile [tile][tile + pad] or, with ``tile=None``, directly.

    A block has `tile` (directly: 32) x `block_rows` threads. Rows and columns need be no multiple of the
    tile: lanes outside the matrix are inactive.
    """
    if rows < 1 or columns < 1:
        raise ValueError(f"the matrix is {rows} x {columns}: expected 1 or more rows and columns.")
    width = WARP_LANES if tile is None else _check_tile(tile)
    height = block_rows if tile is None else width
    if block_rows < 1 or height % block_rows or width * block_rows > 1024:
        raise ValueError(f"block_rows is {block_rows}: expected a divisor of the tile, at most 1024 threads a block.")
    lane_x, lane_y, exists = thread_indices((width, block_rows))
    # One row of blocks at a time; the axes are (blocks, steps of a block, warps, lanes).
    right = np.arange(0, columns, width).reshape(-1, 1, 1, 1)
    y = lane_y + np.arange(0, height, block_rows).reshape(-1, 1, 1)
    x = lane_x[np.newaxis]
    shared = Tile(width, height, pad, element_bytes)
    stored, loaded = (None, None) if tile is None else (shared.addresses(y, x), shared.addresses(x, y))
    counts = np.zeros(7, np.int64)
    for down in range(0, rows, height):
        read = exists & (down + y < rows) & (right + x < columns)
        load = (down + y) * columns + right + x
        if stored is None or loaded is None:
            counts[:4] += _requests(load, read, (right + x) * rows + down + y, read, element_bytes)
            continue
        write = exists & (right + y < columns) & (down + x < rows)
        counts[:4] += _requests(load, read, (right + y) * rows + down + x, write, element_bytes)
        # In shared memory all blocks of the row do the same, but for the last, which can be cut off.
        for block, times in ((0, len(right) - 1), (-1, 1)):
            stores = wavefronts(_warps(stored, read[block]), element_bytes, "store", _warps(read[block], read[block]))
            loads = wavefronts(_warps(loaded, write[block]), element_bytes, "load", _warps(write[block], write[block]))
            counts[4:] += times * np.array([stores.wavefronts.sum(), loads.wavefronts.sum(), stores.instructions])
    plan = "without a tile" if tile is None else f"through a tile [{width}][{width}{f' + {pad}' if pad else ''}]"
    used = 0 if tile is None else shared.shared_bytes
    return Transpose(plan, rows, columns, used, *(int(count) for count in counts))


def _requests(load: Integers, read: Mask, store: Integers, write: Mask, element_bytes: int) -> list[int]:
    """Requests and sectors of the loads, then of the stores."""
    counts = []
    for index, active in ((load, read), (store, write)):
        addresses = index_addresses(_warps(np.where(active, index, 0), active), element_bytes)
        cost = coalesce(addresses, element_bytes, _warps(active, active))
        counts += [cost.requests, int(cost.sectors.sum())]
    return counts


def _warps(values: npt.NDArray[Number], like: Mask) -> npt.NDArray[Number]:
    """Values for all warps of a row of blocks, shape (warps, lanes)."""
    return np.broadcast_to(values, like.shape).reshape(-1, WARP_LANES)


@dataclass(frozen=True)
class TileSweep:
    """Tile sizes of a matrix product side by side: reuse against occupancy."""

    tile: Integers
    intensity: Floats
    shared_bytes: Integers
    occupancy: Occupancy

    def __str__(self) -> str:
        each = (
            f"T = {side}: {intensity:g} FLOP/B, {blocks} blocks, {100 * share:.3g} %"
            for side, intensity, blocks, share in zip(
                self.tile, self.intensity, self.occupancy.blocks_per_sm, self.occupancy.occupancy, strict=True
            )
        )
        return "; ".join(each) + "."


def tile_sweep(
    of: str | Card | SmLimits,
    tiles: npt.ArrayLike = (8, 16, 32),
    *,
    pad: int = 0,
    registers_per_thread: int = 32,
    element_bytes: int = 4,
) -> TileSweep:
    """Intensity, shared bytes and occupancy of square tiles with one thread for each output."""
    side = np.atleast_1d(np.asarray(tiles))
    intensity = arithmetic_intensity(side, element_bytes)  # refuses sizes that make no sense
    shared = 2 * element_bytes * side * (side + pad)
    return TileSweep(side, intensity, shared, occupancy(of, side**2, registers_per_thread, shared))


def _check_tile(tile: int) -> int:
    if not isinstance(tile, int) or not 1 <= tile <= 32:
        raise ValueError(f"tile is {tile!r}: expected 1 to 32, since a block of tile x tile threads has at most 1024.")
    return tile
