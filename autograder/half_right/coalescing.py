"""Typical wrong answers in chapter `coalescing`."""

from __future__ import annotations

__all__ = ["ANSWERS"]

ANSWERS = {
    # Lines are taken for sectors, and everything that follows from it.
    "q1-answer": """\
q1 = dict(
    sectors=8,
    lines=8,
    requested_bytes=128,
    transferred_bytes=8 * 32,
    efficiency=128 / 256,
    shape="four lanes per sector",
)""",
    # A cast is believed to help.
    "q4-answer": 'q4 = dict(misaligned_by=4, required_alignment=16, fixes=["copy", "start", "prologue", "cast"])',
    # One of the four byte loads is counted, not all.
    "q7-answer": 'q7 = dict(word_sectors=4, byte_sectors=4, layout="planes")',
    # The stride is given in bytes.
    "q8-answer": "q8 = dict(line_fraction=0.25, warp_stride=16)",
    # Interleaves well, but forgets the threads behind the end.
    "scale-answer": """\
@cuda.jit
def scale(x, out, a, k):
    for j in range(k):
        i = cuda.grid(1) + j * cuda.gridsize(1)
        out[i] = a * x[i]""",
    # Finds the first good address, but forgets the rest after the last four.
    "wide_copy-answer": """\
@cuda.jit
def wide_copy(x, out, start):
    i = cuda.grid(1)
    head = min(-start % 4, out.size)
    if i < head:
        out[i] = x[i]
    if head + 4 * i + 3 < out.size:
        cuda.store4(out, head + 4 * i, cuda.load4(x, head + 4 * i))""",
    # Leaves out an index that comes twice.
    "gather-answer": """\
def reorder(indices):
    return np.unique(indices)""",
    # Counts the sectors between the first and the last one, too, and fails for no lane at all.
    "sectors-answer": """\
def sectors(addresses, size):
    return max(addresses) // 32 - min(addresses) // 32 + 1""",
}
