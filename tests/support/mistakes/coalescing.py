"""Typical mistakes in the exercises of chapter `coalescing`."""

from __future__ import annotations

from tests.support.mistakes.wrong import Wrong

__all__ = ["WRONG"]

WRONG: dict[str, dict[str, Wrong]] = {
    "coalescing/scale": {
        "no tail": Wrong(("if i < out.size:", "if i >= 0:"), "findings", "out-of-bounds"),
        "tail off by one": Wrong(("i < out.size", "i < out.size - 1"), "results", "the last"),
        "tail one too far": Wrong(("i < out.size", "i <= out.size"), "findings", "out-of-bounds"),
        "step of one block": Wrong(("cuda.gridsize(1)", "cuda.blockDim.x"), "results", "never written"),
        "still side by side": Wrong(
            ("cuda.grid(1) + j * cuda.gridsize(1)", "cuda.grid(1) * k + j"), "loads", "neighbours"
        ),
        "lanes two apart": Wrong(
            ("cuda.grid(1) + j * cuda.gridsize(1)", "2 * cuda.grid(1) + j % 2 + j // 2 * 2 * cuda.gridsize(1)"),
            "loads", "neighbours",
        ),
        "one step too few": Wrong(("range(k)", "range(k - 1)"), "results", "never written"),
        "four steps always": Wrong(("range(k)", "range(4)"), "results", "never written"),
        "double precision": Wrong(("a * x[i]", "a * x[i] * 1.0"), "findings", "float64"),
    },
    "coalescing/wide_copy": {
        "start forgotten": Wrong(("(4 - start % 4) % 4", "0"), "results", "misaligned"),
        "start taken for head": Wrong(("(4 - start % 4) % 4", "start % 4"), "results", "misaligned"),
        "an aligned start skips four": Wrong(("(4 - start % 4) % 4", "4 - start % 4"), "loads", ""),
        "tail forgotten": Wrong(("if tail + i < out.size:", "if tail + i < 0:"), "results", "the last"),
        "tail off by one": Wrong(("if tail + i < out.size:", "if tail + i < out.size - 1:"), "results", "the last"),
        "head forgotten": Wrong(("if i < head:", "if i < 0:"), "results", "the first"),
        "wide counted from the whole": Wrong(("(out.size - head) // 4", "out.size // 4"), "findings", "out-of-bounds"),
        "short views": Wrong(("min((4 - start % 4) % 4, out.size)", "(4 - start % 4) % 4"), "findings", "out-of-b"),
        "head by every thread": Wrong(("if i < head:", "if i < out.size:"), "loads", "enough"),
        "wide without step": Wrong(("cuda.load4(x, head + 4 * i)", "cuda.load4(x, head + i)"), "results", "misaligned"),
    },
    "coalescing/gather": {
        "positions": Wrong(("np.sort(", "np.argsort("), "same indices", "positions"),
        "each one once": Wrong(("np.sort(", "np.unique("), "same indices", "more or less often"),
        "in place": Wrong(("np.sort(indices)", "indices.sort()"), "same indices", "None"),
        "by place in the sector": Wrong(("np.sort(indices)", "indices[np.argsort(indices % 8)]"), "sectors", "share"),
        "by line only": Wrong(("np.sort(indices)", "indices[np.argsort(indices // 32)]"), "sectors", "share"),
        "within each warp": Wrong(
            ("np.sort(indices)", "np.concatenate([np.sort(indices[i:i + 32]) for i in range(0, len(indices), 32)])"),
            "sectors", "as much as before",
        ),
        "half of them": Wrong(("np.sort(indices)", "np.sort(indices)[::2]"), "same indices", "indices"),
    },
}  # fmt: skip
