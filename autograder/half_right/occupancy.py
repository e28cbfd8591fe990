"""Typical wrong answers in chapter `occupancy`."""

from __future__ import annotations

__all__ = ["ANSWERS"]

ANSWERS = {
    # The three divisions, without units, partitions, the reserved part and the block slots.
    "blocks_per_sm-answer": """\
def blocks_per_sm(threads, registers, shared, sm):
    if threads > sm["threads_per_block"]:
        return 0
    warps = -(-threads // 32)
    blocks = min(sm["warp_slots"] // warps, sm["registers"] // (registers * 32 * warps))
    return min(blocks, sm["shared_bytes"] // shared) if shared else blocks""",
    # The block slots are forgotten, and the reserved part.
    "limiter-answer": """\
limiter = dict(
    a="registers", b="warp slots", c="shared memory", d="warp slots", e="warp slots", f="warp slots",
)""",
    # The reserved part is forgotten. The T4 has none.
    "largest_tile-answer": "largest_tile = dict(t4=90, a100=144, rtx_4090=112, h200=170)",
    # Rounds down, and takes full slots for enough.
    "in_flight-answer": """\
flight = dict(needed_bytes=500 * 2000, warps=72, share=1, wide_warps=19, loads=4)""",
    # Half of the warps, as many a book says.
    "q6-answer": """\
q6 = dict(
    blocks_before=6, blocks_after=4, occupancy_before=0.75, occupancy_after=0.5, half=64,
    explanations={"more in flight", "fewer loads", "already hidden"},
)""",
}
