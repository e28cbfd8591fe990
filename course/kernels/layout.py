"""The kernels of chapter `layout`: those that its explorer profiles, and those that fill and read a cache of keys.

In the explorer's, thread i adds up some fields of record i. The three layouts differ in one line, the one that reads a
field. Each field has its own such line, so that a profile counts every field by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from course import cuda

__all__ = [
    "FIELDS",
    "cache_fill",
    "cache_scores",
    "read_arrays",
    "read_records",
    "read_tiles",
]

# Array of structs: p is an array of records.


@cuda.jit(device=True)
def field_x(p: Any, i: Any) -> Any:
    """Field x of record i."""
    return p[i].x


@cuda.jit(device=True)
def field_y(p: Any, i: Any) -> Any:
    """Field y of record i."""
    return p[i].y


@cuda.jit(device=True)
def field_z(p: Any, i: Any) -> Any:
    """Field z of record i."""
    return p[i].z


@cuda.jit(device=True)
def field_w(p: Any, i: Any) -> Any:
    """Field w of record i."""
    return p[i].w


@cuda.jit(device=True)
def field_u(p: Any, i: Any) -> Any:
    """Field u of record i."""
    return p[i].u


@cuda.jit(device=True)
def field_v(p: Any, i: Any) -> Any:
    """Field v of record i."""
    return p[i].v


FIELDS = {"x": field_x, "y": field_y, "z": field_z, "w": field_w, "u": field_u, "v": field_v}
"""The device functions by the name of the field that they read."""


def read_records(names: Sequence[str]) -> Any:
    """Make a kernel that adds up these fields of an array of structs."""
    fields_of = reduce(_sum_of, [FIELDS[name] for name in names])

    @cuda.jit
    def records_kernel(p: Any, out: Any) -> None:
        i = cuda.grid(1)
        if i < out.size:
            out[i] = fields_of(p, i)

    return records_kernel


def _sum_of(first: Any, second: Any) -> Any:
    @cuda.jit(device=True)
    def add(p: Any, i: Any) -> Any:
        return first(p, i) + second(p, i)

    return add


# Struct of arrays: one array for each field. `wanted` holds a 1 for every field that is read.


@cuda.jit
def read_arrays(x: Any, y: Any, z: Any, w: Any, u: Any, v: Any, out: Any, wanted: Any) -> None:
    """Add up the wanted fields of a struct of arrays."""
    i = cuda.grid(1)
    if i < out.size:
        total = 0.0
        if wanted[0]:
            total += x[i]
        if wanted[1]:
            total += y[i]
        if wanted[2]:
            total += z[i]
        if wanted[3]:
            total += w[i]
        if wanted[4]:
            total += u[i]
        if wanted[5]:
            total += v[i]
        out[i] = total


# Tiles of arrays: all fields lie in one allocation, and each name is a view of it with the field's type. In tile
# number t, the values of field f begin at element t * pitch[f] + start[f] of its view.


@cuda.jit(device=True)
def place(i: Any, tile: Any, pitch: Any, start: Any) -> Any:
    """Element of a field's view that belongs to record i."""
    return i // tile * pitch + start + i % tile


@cuda.jit
def read_tiles(
    x: Any, y: Any, z: Any, w: Any, u: Any, v: Any, out: Any, wanted: Any, tile: Any, pitch: Any, start: Any
) -> None:
    """Add up the wanted fields of tiles of `tile` records."""
    i = cuda.grid(1)
    if i < out.size:
        total = 0.0
        if wanted[0]:
            total += x[place(i, tile, pitch[0], start[0])]
        if wanted[1]:
            total += y[place(i, tile, pitch[1], start[1])]
        if wanted[2]:
            total += z[place(i, tile, pitch[2], start[2])]
        if wanted[3]:
            total += w[place(i, tile, pitch[3], start[3])]
        if wanted[4]:
            total += u[place(i, tile, pitch[4], start[4])]
        if wanted[5]:
            total += v[place(i, tile, pitch[5], start[5])]
        out[i] = total


# A cache of keys, as attention reads it. `place(block, token, head, d, tokens, heads, dims)` is a device function that
# says at which index of the cache number d of a token's key lies: it is the layout.


def cache_fill(place: Any) -> Any:
    """Make a kernel that stores keys of shape [blocks, tokens, heads, dim] in a cache, one thread for each number."""

    @cuda.jit
    def fill(keys: Any, cache: Any) -> None:
        i = cuda.grid(1)
        _, tokens, heads, dims = keys.shape
        if i < keys.size:
            d, head = i % dims, i // dims % heads
            token, block = i // (dims * heads) % tokens, i // (dims * heads * tokens)
            cache[place(block, token, head, d, tokens, heads, dims)] = keys[block, token, head, d]

    return fill


def cache_scores(place: Any) -> Any:
    """Make a kernel for the product of a query with each key: lane i takes token i; one row of blocks for each head."""

    @cuda.jit
    def scores(q: Any, cache: Any, out: Any, tokens: int) -> None:
        i = cuda.grid(1)
        head = cuda.blockIdx.y
        heads, dims = q.shape
        if i < out.shape[1]:
            total = np.float32(0)
            for d in range(dims):
                total += q[head, d] * cache[place(i // tokens, i % tokens, head, d, tokens, heads, dims)]
            out[head, i] = total

    return scores
