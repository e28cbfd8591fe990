"""Typical mistakes in the exercises of chapter `layout`."""

from __future__ import annotations

from tests.support.mistakes.wrong import Wrong

__all__ = ["WRONG"]

WRONG: dict[str, dict[str, Wrong]] = {
    "layout/bytes_moved": {
        "sectors, not bytes": Wrong(("moved += 32 * len", "moved += len"), "array of structs", "not right"),
        "bytes that are asked for": Wrong(
            ("32 * len({address // 32 for address in addresses})", "32 * size"), "array of structs", "not right"
        ),
        "lines": Wrong(("address // 32", "address // 128"), "array of structs", "not right"),
        "the whole record before a field": Wrong(
            ("names[:names.index(name)]", "names[:names.index(name) + 1]"), "array of structs", "which byte"
        ),
        "offset not scaled by the tile": Wrong(("tile * before", "before"), "tiles of arrays", "Where does"),
        "the size of a field forgotten": Wrong(("[lane * size for", "[lane * 4 for"), "struct of arrays", "own"),
        "lanes inside a tile forgotten": Wrong(("lane % tile * size", "lane * size"), "tiles of arrays", "Where does"),
        "only the last field counts": Wrong(("moved += 32", "moved = 32"), "several fields", "Each request"),
    },
    "layout/soa": {
        "rows of n elements": Wrong(("fields[3 * pitch + i]", "fields[3 * n + i]"), "results", "new"),
        "rows of n elements in the result": Wrong(("new[pitch + i]", "new[n + i]"), "results", "new"),
        "row of the wrong field": Wrong(("fields[2 * pitch + i]", "fields[pitch + i]"), "results", "not the right"),
        "fields side by side": Wrong(("fields[2 * pitch + i]", "fields[6 * i + 2]"), "results", "not the right"),
        "one field still from the records": Wrong(("fields[2 * pitch + i]", "p[i].vx"), "loads", "own array"),
        "no tail": Wrong(("if i < n:", "if i >= 0:"), "results", "not part of the task"),
        "up to the pitch": Wrong(("if i < n:", "if i < pitch:"), "results", "not part of the task"),
        "tail off by one": Wrong(("if i < n:", "if i < n - 1:"), "results", "new"),
        "double precision": Wrong(("fields[i] + dt", "fields[i] + 1.0 * dt"), "findings", "float64"),
    },
    "layout/aosoa": {
        "one long array for each field": Wrong(("i // tile * 3 * tile + i % tile", "i"), "results", "out"),
        "an array of structs": Wrong(("i // tile * 3 * tile + i % tile", "3 * i"), "results", "out"),
        "tiles of one field": Wrong(("i // tile * 3 * tile", "i // tile * tile"), "results", "out"),
        "place in the tile forgotten": Wrong(("+ i % tile", "+ i"), "results", "out"),
        "tiles as wide as a warp": Wrong(("i % tile", "i % 32"), "results", "out"),
        "fields side by side": Wrong(("p[first + tile]", "p[first + 1]"), "results", "not the right"),
        "no tail": Wrong(("if i < out.size:", "if i >= 0:"), "findings", "out-of-bounds"),
        "tail off by one": Wrong(("i < out.size", "i < out.size - 1"), "results", "the last"),
        "lanes a whole grid apart": Wrong(
            ("i = cuda.grid(1)", "i = cuda.threadIdx.x * cuda.gridDim.x + cuda.blockIdx.x"), "loads", "ighbouring"
        ),
    },
    "layout/kv": {
        "dim last": Wrong(
            ("* dims + d) * tokens + token", "* tokens + token) * dims + d"),
            "loads", "count fastest",
        ),
        "heads last": Wrong(
            ("* heads + head) * dims + d) * tokens + token", "* tokens + token) * dims + d) * heads + head"),
            "loads", "count fastest",
        ),
        "two heads in one place": Wrong(("block * heads + head", "block * heads"), "results", "out"),
        "two tokens in one place": Wrong(("* tokens + token", "* tokens"), "results", "out"),
        "sizes mixed up": Wrong(("* dims + d", "* heads + d"), "results", "out"),
        "block forgotten": Wrong(("block * heads + head", "head"), "results", "out"),
        "outside of the cache": Wrong(("* tokens + token", "* tokens * 2 + token"), "findings", "out-of-bounds"),
        "tokens of sixteen always": Wrong(("* tokens + token", "* 16 + token"), "results", "out"),
    },
}  # fmt: skip
