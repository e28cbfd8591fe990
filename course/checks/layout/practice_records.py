"""Practice with records: padding, packed records, the width of a tile."""

from __future__ import annotations

from itertools import permutations

from course.checks.parts import Misconception, Number
from course.checks.question import Question
from course.models.coalescing import SECTOR_BYTES, WARP_LANES
from course.models.layout import Records, struct

__all__ = ["P1", "P4", "P6"]

# p1: padding inside a record ---------------------------------------------------------------------

_KINDS = {"kind": "u1", "energy": "f8", "alive": "u1", "charge": "f4"}
_as_written = struct(_KINDS)
_best = min((struct(list(order)) for order in permutations(_KINDS.items())), key=lambda record: record.struct_bytes)
_packed = struct(_KINDS, align=False)
_sizes = dict(zip(_as_written.names, _as_written.field_bytes, strict=True))
_large_first = struct(sorted(_KINDS.items(), key=lambda field: -_sizes[field[0]]))
assert _large_first.struct_bytes == _best.struct_bytes
_aligned_to_fields_only = _as_written.offsets[-1] + _as_written.field_bytes[-1]

P1 = Question(
    name="layout/p1",
    statement=(
        "A record has the fields `kind` (1 byte), `energy` (8 bytes), `alive` (1 byte) and `charge` (4 bytes), in this "
        "order, made with `align=True`. Every field starts at a multiple of its size, and the record is as long as a "
        "multiple of its largest field."
    ),
    parts=(
        Number(
            name="record_bytes",
            points=1,
            asks="bytes from one record to the next",
            unit="bytes",
            expected=_as_written.struct_bytes,
            hint="Go from field to field. Where may the next one start?",
            misconceptions=(
                Misconception(
                    _packed.struct_bytes,
                    "This is the sum of the fields. A field may start at a multiple of its size only, so gaps stay "
                    "between them.",
                ),
                Misconception(
                    len(_KINDS) * max(_sizes.values()),
                    "This gives every field the room of the largest one. A small field takes only its own size.",
                ),
                Misconception(
                    _best.struct_bytes,
                    "This is possible, but in another order of the fields.",
                ),
            ),
        ),
        Number(
            name="padding_bytes",
            points=1,
            asks="bytes of a record that hold nothing",
            unit="bytes",
            expected=_as_written.padding_bytes,
            hint="The bytes of the record, without the bytes of its fields.",
            misconceptions=(
                Misconception(0, "This is a packed record. With align=True, fields start at multiples of their size."),
                Misconception(
                    _as_written.offsets[1] - _as_written.field_bytes[0],
                    "This is the gap before one of the fields. Are there more?",
                ),
                Misconception(_best.padding_bytes, "This is what is left over in the best order of the fields."),
            ),
        ),
        Number(
            name="best_bytes",
            points=1,
            asks="bytes from one record to the next in the best order of the fields",
            unit="bytes",
            expected=_best.struct_bytes,
            hint="Which order leaves no gap between the fields?",
            misconceptions=(
                Misconception(
                    _packed.struct_bytes,
                    "This is the sum of the fields. The record must still be as long as a multiple of its largest "
                    "field.",
                ),
                Misconception(_as_written.struct_bytes, "This is the order that we have."),
                Misconception(
                    len(_KINDS) * max(_sizes.values()),
                    "This gives every field the room of the largest one. Small fields can share it.",
                ),
            ),
        ),
    ),
    worked=(
        f"Field by field: `kind` is at byte {_as_written.offsets[0]}. `energy` must start at a multiple of "
        f"{_sizes['energy']}, so at byte {_as_written.offsets[1]}. `alive` follows at {_as_written.offsets[2]}, and "
        f"`charge` must start at a multiple of {_sizes['charge']}, so at {_as_written.offsets[3]}. It ends at "
        f"{_aligned_to_fields_only}, and the next multiple of {_sizes['energy']} is **{_as_written.struct_bytes}**. "
        f"The fields fill {_packed.struct_bytes} bytes, so **{_as_written.padding_bytes}** are padding.\n\nPut large "
        f"fields first ({', '.join(_large_first.names)}): then no gap stays between them, and the record takes "
        f"**{_best.struct_bytes}** bytes. A warp that reads one field of every record walks over "
        f"{WARP_LANES * _best.struct_bytes} bytes instead of {WARP_LANES * _as_written.struct_bytes}."
    ),
)

# p4: packed and aligned records of three floats ---------------------------------------------------

_XYZ = dict.fromkeys("xyz", "f4")
_loose, _tight = (Records(struct(_XYZ, align=align), "aos", WARP_LANES) for align in (True, False))
_read_packed, _read_aligned = _tight.traffic(["x"], bytewise=True), _loose.traffic(["x"])

P4 = Question(
    name="layout/p4",
    statement=(
        "A record has three floats x, y, z. `numba` compiles a kernel in which lane i reads x of record i. The records "
        "are 12 bytes long with `align=True` and without it. One warp reads 32 records from the start of the array."
    ),
    parts=(
        Number(
            name="aligned_sectors",
            points=1,
            asks="sectors that the warp's read touches with align=True",
            unit="sectors",
            expected=_read_aligned.sectors,
            hint="The lanes are a record apart. Write down the first bytes and their sectors.",
            misconceptions=(
                Misconception(
                    Records(struct(dict.fromkeys("xyzw", "f4")), "aos", WARP_LANES).traffic(["x"]).sectors,
                    "This is the count for records of four floats.",
                ),
                Misconception(
                    Records(struct(_XYZ), "soa", WARP_LANES).traffic(["x"]).sectors,
                    "This is the count for a struct of arrays.",
                ),
                Misconception(
                    WARP_LANES, "This gives every lane a sector of its own. Is a record as long as a sector?"
                ),
            ),
        ),
        Number(
            name="packed_requests",
            points=1,
            asks="requests of the same read without align=True",
            unit="requests",
            expected=_read_packed.requests,
            hint="What does numba know about the address of a field in a packed record?",
            misconceptions=(
                Misconception(
                    _read_aligned.requests,
                    "This is the number with align=True. In a packed record a float may start anywhere, so numba does "
                    "not load it at once.",
                ),
                Misconception(
                    len(_XYZ),
                    "This counts fields. Only one field is read; how many loads does it take?",
                ),
                Misconception(
                    WARP_LANES,
                    "This counts lanes. A request serves all lanes of a warp.",
                ),
            ),
        ),
        Number(
            name="packed_sectors",
            points=1,
            asks="sectors of these requests, added up",
            unit="sectors",
            expected=_read_packed.sectors,
            hint="Each of these requests touches sectors of its own count. Do they touch the same ones?",
            misconceptions=(
                Misconception(
                    _read_aligned.sectors,
                    "This is the count of one request. Coalescing never merges two requests.",
                ),
                Misconception(
                    WARP_LANES * _read_packed.requests,
                    "This gives every lane of every request a sector of its own.",
                ),
                Misconception(
                    WARP_LANES,
                    "This counts lanes. Several lanes share a sector, and each request pays for its sectors anew.",
                ),
            ),
        ),
    ),
    worked=(
        f"The lanes are {_loose.record.struct_bytes} bytes apart, so they walk over "
        f"{WARP_LANES * _loose.record.struct_bytes} bytes, which are **{_read_aligned.sectors}** sectors, and each of "
        "them holds an x. A packed record may start at any byte, and `numba` then loads a field byte by byte: "
        f"**{_read_packed.requests}** requests. Each of them touches the same sectors again, {_read_packed.requests} "
        f"× {_read_aligned.sectors} = **{_read_packed.sectors}**. The records have the same bytes in both cases. Only "
        "the promise differs."
    ),
)

# p6: how wide must a tile be? ---------------------------------------------------------------------


def _smallest_tile(kind: str) -> int:
    record = struct(dict.fromkeys("abcd", kind))
    widths = (1, 2, 4, 8, 16, 32, 64)
    costs = {tile: Records(record, "aosoa", 1024, tile).traffic(["a"]).sectors for tile in widths}
    return min(costs, key=lambda tile: (costs[tile], tile))


_half_tile, _float_tile, _double_tile = (_smallest_tile(kind) for kind in ("i2", "f4", "f8"))

P6 = Question(
    name="layout/p6",
    statement=(
        "Tiles of arrays: `tile` values of one field, then `tile` values of the next. All fields of the record have "
        "the same size. What is the smallest tile (a power of two) at which a warp that reads one field touches no "
        "more sectors than in a struct of arrays?"
    ),
    parts=(
        Number(
            name="floats",
            points=1,
            asks="smallest tile for fields of 4 bytes",
            unit="records",
            expected=_float_tile,
            hint="The values of one field in one tile should fill whole sectors.",
            misconceptions=(
                Misconception(
                    WARP_LANES,
                    "This is a whole warp. It works, but a field fills a whole sector with fewer records.",
                ),
                Misconception(SECTOR_BYTES // 8, "This fills half a sector, so every request pays for the other half."),
                Misconception(1, "A tile of one record is an array of structs."),
            ),
        ),
        Number(
            name="halves",
            points=1,
            asks="smallest tile for fields of 2 bytes",
            unit="records",
            expected=_half_tile,
            hint="The values of one field in one tile should fill whole sectors.",
            misconceptions=(
                Misconception(_float_tile, "This is enough for fields of twice the size. Here it fills half a sector."),
                Misconception(WARP_LANES, "This works, but a field fills a whole sector with fewer records."),
                Misconception(1, "A tile of one record is an array of structs."),
            ),
        ),
    ),
    worked=(
        f"In one tile, a field must fill whole sectors of {SECTOR_BYTES} bytes: {SECTOR_BYTES} / 4 = "
        f"**{_float_tile}** records for floats, {SECTOR_BYTES} / 2 = **{_half_tile}** for 2-byte fields "
        f"({_double_tile} for doubles). A tile as wide as a warp is a common choice, because it works for every size, "
        "and one warp then reads one tile."
    ),
)
