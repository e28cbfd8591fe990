"""Exercise (b) of the chapter `layout`: a kernel that reads records is rewritten for a struct of arrays."""

from __future__ import annotations

import random

import numpy as np

from course.checks.attempt import Launch, Watched
from course.checks.ideal import neighbours
from course.checks.kernel import Budget, KernelCheck, Sizes
from course.models.layout import Records, padded_pitch, struct

__all__ = ["EXERCISE", "FIELDS", "READ"]

FIELDS = ("x", "y", "vx", "vy", "mass", "charge")
READ = FIELDS[:4]
_FLOAT = 4
_BLOCKS = (32, 64, 96, 128)


def _launch(sizes: Sizes, generator: np.random.Generator) -> Launch:
    n, threads = sizes["n"], sizes["threads"]
    pitch = padded_pitch(_FLOAT * n) // _FLOAT
    rows = generator.uniform(1, 2, (len(FIELDS), pitch)).astype(np.float32)
    p = np.empty(n, np.dtype([(name, "f4") for name in FIELDS], align=True))
    for name, row in zip(FIELDS, rows, strict=True):
        p[name] = row[:n]
    dt = np.float32(generator.uniform(2, 3))
    fields, new = rows.ravel(), np.full(2 * pitch, np.nan, np.float32)
    expected = rows[:2] + dt * rows[2:4]
    expected[:, n:] = np.nan  # nobody may write what lies behind the last particle
    loads = Records(struct(dict.fromkeys(FIELDS, "f4")), "soa", n).traffic(READ)
    return Launch(
        grid=-(-n // threads),
        block=threads,
        arguments=(p, fields, new, n, pitch, dt),
        watched=(
            Watched("new", new, expected.ravel()),
            Watched("fields", fields, fields.copy()),
        ),
        budgets={"loads": {"sectors": loads.sectors}, "stores": {"sectors": 2 * neighbours(n)["sectors"]}},
    )


def _more(generator: random.Random) -> list[Sizes]:
    """Every remainder of the length by a sector of floats but none, and one block that is far from full."""
    lengths = [8 * generator.randint(8, 60) + rest for rest in generator.sample(range(1, 8), 4)]
    sizes: list[Sizes] = [{"n": n, "threads": generator.choice(_BLOCKS)} for n in lengths]
    return [*sizes, {"n": generator.randint(17, 23), "threads": generator.choice(_BLOCKS)}]


EXERCISE = KernelCheck(
    name="layout/soa",
    kernel="drift",
    statement=(
        "`drift[blocks, threads](p, fields, new, n, pitch, dt)` moves n particles: new x = x + dt * vx, new y = y + "
        "dt * vy. The program keeps the particles twice. `p` holds records. `fields` holds a struct of arrays: field f "
        "of particle i is `fields[f * pitch + i]`, with the fields x, y, vx, vy, mass, charge in this order. `new` has "
        "the same form, with x and y only. Rewrite the kernel so that it reads `fields` and no longer needs `p`."
    ),
    keys={
        "p": "array of records with x, y, vx, vy, mass, charge (float32 each), read only",
        "fields": "float32 array of 6 * pitch elements: the same values, field after field, read only",
        "new": "float32 array of 2 * pitch elements: the new x, then the new y",
        "n": "number of particles, one thread for each",
        "pitch": "elements from one field to the next: n, rounded up to a multiple of 8",
        "dt": "time step, a float32",
    },
    result_points=1,
    finding_points=1,
    budgets=(
        Budget(
            "loads",
            3,
            "load",
            "Neighbouring lanes should read neighbouring floats: take every field from its own array.",
        ),
        Budget("stores", 1, "store", "Neighbouring lanes should write neighbouring floats."),
    ),
    visible=({"n": 1024, "threads": 128}, {"n": 1001, "threads": 64}, {"n": 45, "threads": 32}),
    more=_more,
    launch=_launch,
    given=("results", "findings", "stores"),
)
