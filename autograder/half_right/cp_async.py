"""Typical wrong answers in chapter `cp_async`."""

from __future__ import annotations

__all__ = ["ANSWERS"]

ANSWERS = {
    # Forgets twelve bytes and the alignment of the shared address, and halves the time.
    "c-answer": """\
c = dict(
    legal={"4", "8", "16"}, fails={"one byte"}, one_buffer=3 * (4 + 6), two_buffers=3 * (4 + 6) / 2,
)""",
    # The element always fits, so it takes the width of four floats wherever the matrix is float32.
    "widths-answer": ("widths = dict(plain=16, odd=16, even=16, padded=16, padded_by_four=16, pixels=0)"),
    # Forgets what nothing can hide.
    "pipeline_time-answer": """\
def pipeline_time(tiles, load, compute, stages):
    if stages == 1:
        return tiles * (load + compute)
    return tiles * max(load, compute)""",
    # Right at every edge, but it waits as soon as it has started, so nothing overlaps.
    "double_buffer-answer": """\
@cuda.jit
def pull(x, points, out):
    tile = cuda.shared.array((64, 2), np.float32)
    t, n, mine, total = cuda.threadIdx.x, points.shape[0], x[cuda.grid(1)], np.float32(0)
    for k in range((n + 63) // 64):
        if 64 * k + t < n:
            cuda.cp_async(tile, (t, 0), points, (64 * k + t, 0), 8)
        cuda.cp_async_commit()
        cuda.cp_async_wait(0)
        cuda.syncthreads()
        for j in range(min(64, n - 64 * k)):
            total += tile[j, 1] * abs(mine - tile[j, 0])
        cuda.syncthreads()
    out[cuda.grid(1)] = total""",
    # Forgets that some bytes are reserved for each block.
    "stages-answer": """\
def most_stages(tile_bytes, blocks, sm):
    share = sm["sm_bytes"] // blocks
    return share // sm["unit_bytes"] * sm["unit_bytes"] // tile_bytes""",
}
