"""Typical wrong answers in chapter `layout`."""

from __future__ import annotations

__all__ = ["ANSWERS"]

ANSWERS = {
    # The caches are believed to save sectors of the later requests, too.
    "q2-answer": """\
q2 = dict(
    aos_sectors=16,
    aos_lines=4,
    soa_sectors=4,
    soa_lines=1,
    all_per_request=4,
    dram_ratio=4,
)""",
    # The factor of one-byte elements is taken for all of them, and one layout for both kernels.
    "kv_choice-answer": """\
kv_choice = dict(values_layout="dim last", scores_layout="dim last", byte_factor=32, float_factor=32)""",
    # Right for records and arrays, but takes tiles for a struct of arrays.
    "bytes_moved-answer": """\
def bytes_moved(layout, fields, read, tile):
    record, moved, before = sum(fields.values()), 0, 0
    for name, size in fields.items():
        if name in read:
            apart, first = (record, before) if layout == "aos" else (size, 0)
            moved += 32 * len({(first + lane * apart) // 32 for lane in range(32)})
        before += size
    return moved""",
    # Reads the right arrays, but a constant makes it double precision.
    "soa-answer": """\
@cuda.jit
def drift(p, fields, new, n, pitch, dt):
    i = cuda.grid(1)
    if i < n:
        for f in range(2):
            new[f * pitch + i] = fields[f * pitch + i] + 1.0 * dt * fields[(f + 2) * pitch + i]""",
    # Finds every place, but goes on behind the last record.
    "aosoa-answer": """\
@cuda.jit
def energy(p, out, tile):
    i = cuda.grid(1)
    first = i // tile * 3 * tile + i % tile
    if first < p.size:
        x, y, z = p[first], p[first + tile], p[first + 2 * tile]
        out[i] = x * x + y * y + z * z""",
    # Good for the other kernel.
    "kv-answer": """\
@cuda.jit(device=True)
def place(block, token, head, d, tokens, heads, dims):
    return ((block * heads + head) * tokens + token) * dims + d""",
}
