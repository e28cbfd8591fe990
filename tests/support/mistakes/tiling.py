"""Typical mistakes in the exercises of chapter `tiling`."""

from __future__ import annotations

from tests.support.mistakes.wrong import Wrong

__all__ = ["WRONG"]

_BANK = "wanted[word % 32] = wanted.get(word % 32"
_TILES = "a_tile, b_tile = (cuda.shared.array((16, 16), np.float32), cuda.shared.array((16, 16), np.float32))"

WRONG: dict[str, dict[str, Wrong]] = {
    "tiling/conflict_degree": {
        "lanes, not words": Wrong(("for word in set(words)", "for word in words"), "same word", "delivers a word once"),
        "the row of a tile for a bank": Wrong((_BANK, _BANK.replace("%", "//")), "rows", "bank"),
        "sixteen banks": Wrong((_BANK, _BANK.replace("32", "16")), "rows", "bank"),
        "bytes": Wrong((_BANK, _BANK.replace("%", "// 4 %")), "rows", "bank"),
        "the empty list": Wrong((", default=0)", ")"), "few lanes", "empty"),
        "one for the empty list": Wrong(("default=0", "default=1"), "few lanes", "empty"),
        "all words": Wrong(("max(wanted.values(), default=0)", "sum(wanted.values())"), "rows", "bank"),
        "banks at work": Wrong(("max(wanted.values(), default=0)", "len(wanted)"), "rows", "bank"),
    },
    "tiling/transpose": {
        "no pad": Wrong(("(32, 33)", "(32, 32)"), "shared accesses", "32 shared wavefronts per request"),
        "a pad of four": Wrong(("(32, 33)", "(32, 36)"), "shared accesses", "4 shared wavefronts per request"),
        "pad in the wrong dimension": Wrong(("(32, 33)", "(33, 32)"), "shared accesses", "32 shared wavefronts"),
        "no barrier": Wrong(("\n    cuda.syncthreads()", ""), "findings", "shared-race"),
        "barrier for the warp only": Wrong(("cuda.syncthreads()", "cuda.syncwarp()"), "findings", "shared-race"),
        "barrier inside the if": Wrong(
            ("first_x + i]\n    cuda.syncthreads()", "first_x + i]\n            cuda.syncthreads()"),
            "findings", "divergent-barrier",
        ),
        "same edge for both sides": Wrong(
            ("if first_x + j < out.shape[0] and first_y + i < out.shape[1]:",
             "if first_y + j < a.shape[0] and first_x + i < a.shape[1]:"),
            "results", "`out` is wrong",
        ),
        "no edge": Wrong(
            ("if first_y + j < a.shape[0] and first_x + i < a.shape[1]:", "if True:"), "findings", "out-of-bounds"
        ),
        "tail off by one": Wrong(("first_y + i < out.shape[1]", "first_y + i < out.shape[1] - 1"), "results", "never"),
        "tiles not turned": Wrong(
            ("out[first_x + j, first_y + i] = tile[i, j]", "out[first_x + i, first_y + j] = tile[j, i]"),
            "results", "`out` is wrong",
        ),
        "tile not turned": Wrong(("= tile[i, j]", "= tile[j, i]"), "results", "not the right values"),
        "lanes down the columns": Wrong(
            ("tile[j, i] = a[first_y + j, first_x + i]", "tile[i, j] = a[first_y + i, first_x + j]"),
            "results", "`out` is wrong",
        ),
        "one row of the block only": Wrong(
            ("cuda.syncthreads()\n    for k in range(0, 32, 8)", "cuda.syncthreads()\n    for k in range(0, 8, 8)"),
            "results", "never written",
        ),
        "double precision": Wrong(("= tile[i, j]", "= tile[i, j] * 1.0"), "findings", "float64"),
    },
    "tiling/matmul": {
        "a pad nobody needs": Wrong(
            (_TILES, _TILES.replace("(16, 16)", "(16, 17)")), "shared accesses", "2 shared wavefronts per request"
        ),
        "tile of a turned": Wrong(
            ("a_tile[y, x] = ", "a_tile[x, y] = "), "results", "`c` is wrong",
        ),
        "swapped indices": Wrong(("b_tile[k, x]", "b_tile[x, k]"), "results", "not the right values"),
        "no second barrier": Wrong(
            ("b_tile[k, x]\n        cuda.syncthreads()", "b_tile[k, x]"), "findings", "shared-race"
        ),
        "no first barrier": Wrong(("cuda.syncthreads()\n        for k", "for k"), "findings", "shared-race"),
        "barriers for the warp only": Wrong(
            ("b_tile[k, x]\n        cuda.syncthreads()", "b_tile[k, x]\n        cuda.syncwarp()"),
            "findings", "shared-race",
        ),
        "second barrier after the loop": Wrong(
            ("b_tile[k, x]\n        cuda.syncthreads()", "b_tile[k, x]\n    cuda.syncthreads()"),
            "findings", "shared-race",
        ),
        "no rest of k": Wrong(("range(0, a.shape[1], 16)", "range(0, a.shape[1] - 15, 16)"), "results", "`c` is wrong"),
        "edge of the columns of a forgotten": Wrong(
            ("row < a.shape[0] and first + x < a.shape[1]", "row < a.shape[0]"), "findings", "out-of-bounds"
        ),
        "edge of the rows of a forgotten": Wrong(
            ("row < a.shape[0] and first + x < a.shape[1]", "first + x < a.shape[1]"), "findings", "out-of-bounds"
        ),
        "edge of the rows of b forgotten": Wrong(
            ("first + y < b.shape[0] and column < b.shape[1]", "column < b.shape[1]"), "findings", "out-of-bounds"
        ),
        "double precision": Wrong(("total = np.float32(0)", "total = 0.0"), "findings", "float64"),
        "every element anew": Wrong(
            ("a_tile[y, k] * b_tile[k, x]",
             "(a[row, first + k] if row < a.shape[0] and first + k < a.shape[1] else np.float32(0)) * b_tile[k, x]"),
            "loads", "enough",
        ),
    },
    "tiling/column_sums": {
        "pad in the wrong dimension": Wrong(("(32, 33)", "(33, 32)"), "shared accesses", "32 shared wavefronts per"),
        "a pad of two": Wrong(("(32, 33)", "(32, 34)"), "shared accesses", "2 shared wavefronts per request"),
        "a pad of four": Wrong(("(32, 33)", "(32, 36)"), "shared accesses", "4 shared wavefronts per request"),
        "only the store turned": Wrong(("partial[i, y] =", "partial[y, i] ="), "results", "not the right values"),
        "no barrier": Wrong(("\n    cuda.syncthreads()", ""), "findings", "shared-race"),
        "barrier of one warp": Wrong(("cuda.syncthreads()", "cuda.syncwarp()"), "findings", "shared-race"),
        "one sum too many": Wrong(("range(1, 32)", "range(32)"), "results", "not the right values"),
        "one sum too few": Wrong(("range(1, 32)", "range(1, 31)"), "results", "not the right values"),
        "rows left out": Wrong(("range(y, x.shape[0], 32)", "range(y, x.shape[0] - 31, 32)"), "results", "`out`"),
        "no edge": Wrong(("    if column < out.size:\n        for", "    if column >= 0:\n        for"),
                         "findings", "out-of-bounds"),
        "lanes down the columns": Wrong(
            ("(cuda.threadIdx.x, cuda.threadIdx.y, cuda.grid(2)[0])",
             "(cuda.threadIdx.y, cuda.threadIdx.x, cuda.blockIdx.x * 32 + cuda.threadIdx.y)"),
            "loads", "eighbouring",
        ),
        "the sums of one warp": Wrong(("total += partial[i, k]", "total += partial[i, 0]"), "results", "not the right"),
    },
    "tiling/barrier": {
        "no first barrier": Wrong(
            ("weights[first + i]\n        cuda.syncthreads()", "weights[first + i]"), "findings", "shared-race"
        ),
        "no second barrier": Wrong(
            ("x[first + k, column]\n        cuda.syncthreads()", "x[first + k, column]"), "findings", "shared-race"
        ),
        "first one inside the if": Wrong(
            ("weights[first + i]\n        cuda.syncthreads()", "weights[first + i]\n            cuda.syncthreads()"),
            "findings", "divergent-barrier",
        ),
        "second one inside the if": Wrong(
            ("x[first + k, column]\n        cuda.syncthreads()",
             "x[first + k, column]\n            cuda.syncthreads()"),
            "findings", "divergent-barrier",
        ),
        "second one behind the loop": Wrong(
            ("x[first + k, column]\n        cuda.syncthreads()", "x[first + k, column]\n    cuda.syncthreads()"),
            "findings", "shared-race",
        ),
        "second one for the warp only": Wrong(
            ("x[first + k, column]\n        cuda.syncthreads()", "x[first + k, column]\n        cuda.syncwarp()"),
            "findings", "shared-race",
        ),
        "out of shared memory": Wrong(("piece[k] *", "weights[first + k] *"), "loads", "once"),
        "full pieces only": Wrong(("min(64, weights.size - first)", "64"), "findings", "out-of-bounds"),
        "a longer piece": Wrong(("for k in range(count)", "for k in range(64)"), "findings", ""),
    },
}  # fmt: skip
