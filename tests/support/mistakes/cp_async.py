"""Typical mistakes in the exercises of chapter `cp_async`."""

from __future__ import annotations

from tests.support.mistakes.wrong import Wrong

__all__ = ["WRONG"]

WRONG: dict[str, dict[str, Wrong]] = {
    "cp_async/pipeline_time": {
        "one buffer overlaps": Wrong(("stages == 1", "stages == 0"), "one buffer", "take turns"),
        "first load forgotten": Wrong(
            ("load + (tiles - 1) * max(load, compute) + compute", "tiles * max(load, compute)"),
            "computing is longer",
            "nothing hide",
        ),
        "one step too many": Wrong(("(tiles - 1)", "tiles"), "ends", "One tile"),
        "the shorter sets the pace": Wrong(("max(load, compute)", "min(load, compute)"), "loading is longer", "pace"),
        "loads always set the pace": Wrong(("max(load, compute)", "load"), "computing is longer", "pace"),
        "computing always sets the pace": Wrong(("max(load, compute)", "compute"), "loading is longer", "pace"),
        "more buffers are faster": Wrong(
            ("load + (tiles - 1)", "load + (tiles - 1) / (stages - 1)"), "more buffers", "any shorter"
        ),
    },
    "cp_async/double_buffer": {
        "no wait": Wrong(("cuda.cp_async_wait(0)", "pass"), "findings", "async-not-waited"),
        "wait for the group before": Wrong(("cuda.cp_async_wait(0)", "cuda.cp_async_wait(1)"), "findings", "group"),
        "no barrier": Wrong(("cuda.syncthreads()", "pass"), "findings", "no barrier lies between"),
        "one buffer": Wrong(("(k + 1) % 2", "k % 2"), "findings", "async"),
        "reads the other buffer": Wrong(
            ("tile[k % 2, j, 1] * abs(mine - tile[k % 2, j, 0])",
             "tile[(k + 1) % 2, j, 1] * abs(mine - tile[(k + 1) % 2, j, 0])"),
            "findings", "async",
        ),
        "waits again after the start": Wrong(
            ("for j in range(min(64, n - 64 * k)):",
             "cuda.cp_async_wait(0)\n        for j in range(min(64, n - 64 * k)):"),
            "overlap", "before the threads compute",
        ),
        "two waits for each tile": Wrong(
            ("cuda.syncthreads()", "cuda.cp_async_wait(0)\n        cuda.syncthreads()"), "waits", "once for each tile"
        ),
        "copies behind the end": Wrong(("64 * (k + 1) + t < n", "k >= 0"), "findings", "out-of-bounds"),
        "first tile behind the end": Wrong(("if t < n:", "if t < 64:"), "findings", "out-of-bounds"),
        "reads behind the end": Wrong(("range(min(64, n - 64 * k))", "range(64)"), "results", "`out` is wrong"),
        "last tile forgotten": Wrong(("(n + 63) // 64", "n // 64"), "results", "`out` is wrong"),
        "only the position comes": Wrong(
            ("points, (64 * (k + 1) + t, 0), 8)", "points, (64 * (k + 1) + t, 0), 4)"), "results", "`out` is wrong"
        ),
        "two copies for a point": Wrong(
            ("cuda.cp_async(tile, ((k + 1) % 2, t, 0), points, (64 * (k + 1) + t, 0), 8)",
             "cuda.cp_async(tile, ((k + 1) % 2, t, 0), points, (64 * (k + 1) + t, 0), 4)\n            "
             "cuda.cp_async(tile, ((k + 1) % 2, t, 1), points, (64 * (k + 1) + t, 1), 4)"),
            "loads", "together",
        ),
        "starts before the barrier": Wrong(
            ("cuda.cp_async_wait(0)\n        cuda.syncthreads()\n        if 64 * (k + 1) + t < n:\n            "
             "cuda.cp_async(tile, ((k + 1) % 2, t, 0), points, (64 * (k + 1) + t, 0), 8)\n",
             "cuda.cp_async_wait(0)\n        if 64 * (k + 1) + t < n:\n            "
             "cuda.cp_async(tile, ((k + 1) % 2, t, 0), points, (64 * (k + 1) + t, 0), 8)\n        "
             "cuda.syncthreads()\n"),
            "findings", "no barrier lies between",
        ),
    },
    "cp_async/stages": {
        "reserved bytes forgotten": Wrong((" - sm['reserved_bytes']", ""), "reserved", "on top"),
        "no whole units": Wrong((" // sm['unit_bytes'] * sm['unit_bytes']", ""), "units", "rounded up"),
        "one block takes all": Wrong(("sm['sm_bytes'] // blocks", "sm['sm_bytes']"), "shares", "for each block"),
        "reserved once": Wrong(
            ("sm['sm_bytes'] // blocks - sm['reserved_bytes']", "(sm['sm_bytes'] - sm['reserved_bytes']) // blocks"),
            "reserved", "on top",
        ),
        "at least one": Wrong(
            ("share // sm['unit_bytes'] * sm['unit_bytes'] // tile_bytes",
             "max(1, share // sm['unit_bytes'] * sm['unit_bytes'] // tile_bytes)"),
            "none", "not even one",
        ),
    },
}  # fmt: skip
