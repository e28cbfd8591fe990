"""Typical mistakes in the exercises of chapter `roofline`."""

from __future__ import annotations

from tests.support.mistakes.wrong import Wrong

__all__ = ["WRONG"]

WRONG: dict[str, dict[str, Wrong]] = {
    "roofline/attainable": {
        "gigabytes taken for terabytes": Wrong(("bandwidth_gb_per_s / 1000", "bandwidth_gb_per_s"), "cards", "which"),
        "powers of two": Wrong(("/ 1000", "/ 1024"), "left of the ridge", "Mind the units"),
        "the larger one": Wrong(("return min(", "return max("), "right of the ridge", "could feed more"),
        "no peak": Wrong(
            ("return min(memory_tflops, peak_tflops)", "return memory_tflops"), "right of the ridge", "could feed more"
        ),
        "the peak always": Wrong(
            ("return min(memory_tflops, peak_tflops)", "return peak_tflops"), "left of the ridge", "bytes are the limit"
        ),
        "divided by the intensity": Wrong(
            ("ai * bandwidth_gb_per_s / 1000", "bandwidth_gb_per_s / ai / 1000"),
            "at the ridge and at zero", "computes nothing",
        ),
        "rounded": Wrong(
            ("min(memory_tflops, peak_tflops)", "round(min(memory_tflops, peak_tflops), 1)"), "cards", "not right"
        ),
        "times added": Wrong(
            ("min(memory_tflops, peak_tflops)", "memory_tflops * peak_tflops / (memory_tflops + peak_tflops)"),
            "at the ridge and at zero", "equal",
        ),
    },
    "roofline/ridge": {
        "upside down": Wrong(
            ("flop_per_s / bytes_per_s", "bytes_per_s / flop_per_s"), "any machine", "bring the FLOP"
        ),
        "both in giga": Wrong(("10 ** 12", "10 ** 9"), "cards", "intensity times bandwidth"),
        "both in tera": Wrong(("10 ** 9", "10 ** 12"), "any machine", "same unit"),
        "bandwidth without its giga": Wrong(("bandwidth_gb_per_s * 10 ** 9", "bandwidth_gb_per_s"), "cards", "peak"),
        "powers of two": Wrong(("10 ** 9", "2 ** 30"), "any machine", "same unit"),
        "multiplied": Wrong(("flop_per_s / bytes_per_s", "flop_per_s * bytes_per_s"), "cards", "intensity times"),
        "whole numbers": Wrong(("flop_per_s / bytes_per_s", "flop_per_s // bytes_per_s"), "any machine", "not right"),
    },
    "roofline/fuse": {
        "t still in memory": Wrong(("scaled = a * x[i] + y[i]", "t[i] = a * x[i] + y[i]\n        scaled = t[i]"),
                                   "stores", "after the kernel"),
        "u read back": Wrong(("out[i] = squared / (squared + b)", "u[i] = squared\n        out[i] = u[i] / (u[i] + b)"),
                             "loads", "a moment ago"),
        "t written for nobody": Wrong(("squared = scaled * scaled", "t[i] = scaled\n        squared = scaled * scaled"),
                                      "stores", "after the kernel"),
        "computed twice from memory": Wrong(("scaled * scaled", "scaled * (a * x[i] + y[i])"), "loads", "a moment ago"),
        "out as a scratch": Wrong(
            ("out[i] = squared / (squared + b)", "out[i] = squared\n        out[i] = out[i] / (squared + b)"),
            "stores", "anybody read",
        ),
        "square forgotten": Wrong(("squared / (squared + b)", "scaled / (squared + b)"), "results", "out"),
        "no tail": Wrong(("if i < out.size:", "if i >= 0:"), "findings", "out-of-bounds"),
        "tail off by one": Wrong(("i < out.size", "i < out.size - 1"), "results", "the last"),
        "double precision": Wrong(("squared + b)", "squared + b * 1.0)"), "findings", "float64"),
    },
}  # fmt: skip
