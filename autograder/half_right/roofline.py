"""Typical wrong answers in chapter `roofline`."""

from __future__ import annotations

__all__ = ["ANSWERS"]

ANSWERS = {
    # Knows the slope, but not the peak.
    "attainable-answer": """\
def attainable(ai, bandwidth_gb_per_s, peak_tflops):
    return ai * bandwidth_gb_per_s / 1000""",
    # Forgets that a tera is a thousand giga.
    "ridge-answer": """\
def ridge(bandwidth_gb_per_s, peak_tflops):
    return peak_tflops / bandwidth_gb_per_s""",
    # Takes the tile for compute-bound, as on an A100, and does not move the ridge.
    "classify-answer": """\
classify = dict(
    memory_bound={"sum", "activation", "matrix times vector"},
    changes="tile 64",
)""",
    # A multiply-add is counted once, and DRAM is believed to move what the lanes ask for.
    "count-answer": """\
count = dict(
    flop=5,
    requested_bytes=20,
    transferred_bytes=22,
    dram_bytes=20,
    intensity=5 / 20,
)""",
    # Right for the slow ridges; the tensor units get the tile of floats.
    "smallest_tile-answer": """\
smallest_tile = dict(a100=64, h100_sxm=64, rtx_4090=512, a100_fp16=1024, results_per_thread=16)""",
    # Loads nothing twice, but still writes t for nobody.
    "fuse-answer": """\
@cuda.jit
def fused(a, b, x, y, t, u, out):
    i = cuda.grid(1)
    if i < out.size:
        scaled = a * x[i] + y[i]
        t[i] = scaled
        out[i] = scaled * scaled / (scaled * scaled + b)""",
    # The bytes that are written are forgotten, and everything that follows from it.
    "q3-answer": 'q3 = dict(intensity=5, attainable_tflops=10, share_of_peak=10 / 19.5, verdict="memory-bound")',
}
