"""Exercise (a) of the chapter `layout`: a function that says what a warp transfers when it reads some fields."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from course.checks.function import Arguments, FunctionCheck, Group, WrongModel
from course.models.coalescing import LINE_BYTES, SECTOR_BYTES, WARP_LANES
from course.models.layout import Layout, Records, struct

__all__ = ["EXERCISE", "Fields"]

Fields = dict[str, int]
"""Name of a field -> its bytes, in the order of the record."""

_TYPES = {1: "u1", 2: "i2", 4: "f4", 8: "f8"}
_TILES = (4, 8, 16, 32)
_NAMES = ("x", "y", "z", "w", "u", "v", "a", "b")
_FLOATS: Fields = dict.fromkeys(_NAMES[:4], 4)
_MIXED: Fields = {"x": 8, "y": 4, "z": 2, "w": 2}
_RANDOM_CASES = 6
"""Random cases of each group."""


def _records(layout: Layout, fields: Fields, tile: int) -> Records:
    return Records(struct({name: _TYPES[size] for name, size in fields.items()}), layout, WARP_LANES, tile)


def _reference(layout: Layout, fields: Fields, read: list[str], tile: int) -> int:
    return _records(layout, fields, tile).traffic(read).l1_bytes


def _record(generator: random.Random, sizes: Sequence[int] = (1, 2, 4, 8)) -> Fields:
    """A record without padding: large fields first, and as long as a multiple of the largest one."""
    while True:
        chosen = sorted((generator.choice(sizes) for _ in range(generator.randint(2, 8))), reverse=True)
        if sum(chosen) % chosen[0] == 0:
            return dict(zip(_NAMES, chosen, strict=False))


def _some(generator: random.Random, fields: Fields) -> list[str]:
    """At least two of the fields, in any order."""
    return generator.sample(list(fields), generator.randint(2, len(fields)))


def _case(generator: random.Random, layout: str, fields: Fields, read: list[str]) -> Arguments:
    return layout, fields, read, generator.choice(_TILES)


def _one_field(layout: str) -> Callable[[random.Random], list[Arguments]]:
    def more(generator: random.Random) -> list[Arguments]:
        records = [_record(generator) for _ in range(_RANDOM_CASES)]
        return [_case(generator, layout, fields, [generator.choice(list(fields))]) for fields in records]

    return more


def _many_fields(generator: random.Random) -> list[Arguments]:
    records = [_record(generator) for _ in range(_RANDOM_CASES)]
    return [_case(generator, generator.choice(("aos", "soa")), fields, _some(generator, fields)) for fields in records]


def _tiles(generator: random.Random) -> list[Arguments]:
    """Every width of a tile, with records of mixed, equal and small fields."""
    cases: list[Arguments] = []
    for tile in _TILES:
        for sizes in ((1, 2, 4, 8), (4,), (1, 2)):
            fields = _record(generator, sizes)
            cases.append(("aosoa", fields, generator.sample(list(fields), generator.randint(1, len(fields))), tile))
    return cases


# Wrong models ------------------------------------------------------------------------------------


def _addresses(layout: str, fields: Fields, name: str, tile: int) -> list[int]:
    return _records(layout, fields, tile).addresses(name, range(WARP_LANES)).tolist()  # type: ignore[arg-type,no-any-return]


def _useful(layout: str, fields: Fields, read: list[str], tile: int) -> int:
    return WARP_LANES * sum(fields[name] for name in read)


def _each_sector_once(layout: str, fields: Fields, read: list[str], tile: int) -> int:
    return _records(layout, fields, tile).traffic(read).dram_bytes  # type: ignore[arg-type]


def _whole_records(layout: str, fields: Fields, read: list[str], tile: int) -> int:
    return WARP_LANES * sum(fields.values())


def _a_record_per_field(layout: str, fields: Fields, read: list[str], tile: int) -> int:
    return len(read) * WARP_LANES * sum(fields.values())


def _a_sector_per_lane(layout: str, fields: Fields, read: list[str], tile: int) -> int:
    return len(read) * WARP_LANES * SECTOR_BYTES


def _sectors(layout: str, fields: Fields, read: list[str], tile: int) -> int:
    return _reference(layout, fields, read, tile) // SECTOR_BYTES  # type: ignore[arg-type]


def _whole_lines(layout: str, fields: Fields, read: list[str], tile: int) -> int:
    touched = ({at // LINE_BYTES for at in _addresses(layout, fields, name, tile)} for name in read)
    return LINE_BYTES * sum(len(lines) for lines in touched)


def _always(layout: Layout) -> Callable[..., int]:
    return lambda _layout, fields, read, tile: _reference(layout, fields, read, tile)


def _tiles_are_arrays(layout: Layout, fields: Fields, read: list[str], tile: int) -> int:
    return _reference("soa" if layout == "aosoa" else layout, fields, read, tile)


def _tiles_are_records(layout: Layout, fields: Fields, read: list[str], tile: int) -> int:
    return _reference("aos" if layout == "aosoa" else layout, fields, read, tile)


_ONE_REQUEST = (
    "Each field is one request. For its 32 lanes: which byte does each of them start at, and in which sector?"
)

EXERCISE = FunctionCheck(
    name="layout/bytes_moved",
    function="bytes_moved",
    statement=(
        "Write `bytes_moved(layout, fields, read, tile)`: how many bytes are transferred when one warp reads some "
        "fields of its 32 records? Lane i reads record i, and each field is one request. Transferred bytes are 32 "
        "times the sectors of every request, added up over the requests. The first byte of every array is the first "
        "byte of a sector. No record has padding, and no field lies across two sectors."
    ),
    keys={
        "layout": '"aos", "soa" or "aosoa"',
        "fields": "dict: name of a field -> its bytes, in the order of the record",
        "read": "list of the names of the fields that the warp reads, at least one",
        "tile": "records of a tile; it matters for aosoa only",
    },
    reference=_reference,
    groups=(
        Group(
            "array of structs",
            1,
            f"The lanes are a whole record apart. {_ONE_REQUEST}",
            (("aos", _FLOATS, ["x"], 32), ("aos", _MIXED, ["w"], 32), ("aos", dict.fromkeys("xy", 8), ["y"], 8)),
            _one_field("aos"),
        ),
        Group(
            "struct of arrays",
            1,
            f"Each field has an array of its own, and only the size of this field matters. {_ONE_REQUEST}",
            (("soa", _FLOATS, ["z"], 32), ("soa", _MIXED, ["x"], 16), ("soa", _MIXED, ["z"], 8)),
            _one_field("soa"),
        ),
        Group(
            "several fields",
            2,
            "Each request pays for all the sectors that it touches, also for those that another request touches, too.",
            (
                ("aos", _FLOATS, ["x", "y", "z", "w"], 32),
                ("aos", _MIXED, ["y", "x"], 4),
                ("soa", _MIXED, ["x", "w"], 8),
            ),
            _many_fields,
        ),
        Group(
            "tiles of arrays",
            2,
            "A tile holds the first field of its records, then their second one, and so on; the next tile follows. "
            "Where does the tile of a lane start, where in it does the field start, and which value of it is the "
            "lane's?",
            (
                ("aosoa", _FLOATS, ["x"], 32),
                ("aosoa", _FLOATS, ["y"], 4),
                ("aosoa", dict.fromkeys("xyz", 4), ["y", "z"], 4),
                ("aosoa", _MIXED, ["y"], 8),
                ("aosoa", dict.fromkeys("xy", 1), ["x"], 4),
            ),
            _tiles,
        ),
    ),
    wrong_models=(
        WrongModel(
            "Your function counts the bytes that the lanes ask for, as if every layout were a struct of arrays. Where "
            "other values lie between those of the lanes, whole sectors move for a few bytes.",
            (_useful, _always("soa")),
        ),
        WrongModel(
            "Your function counts each sector once for all fields together. That is what comes from the memory chips "
            "when the caches help. Transferred bytes are counted request by request.",
            (_each_sector_once,),
        ),
        WrongModel(
            "Your function moves whole records, whatever is read and wherever it lies.",
            (_whole_records,),
        ),
        WrongModel(
            "Your function gives every lane a sector of its own. Lanes whose values lie in one sector share it.",
            (_a_sector_per_lane,),
        ),
        WrongModel("Your function returns the number of sectors. Asked are the bytes in them.", (_sectors,)),
        WrongModel(
            "Your function moves whole lines. Only the sectors that a lane reads in are moved.", (_whole_lines,)
        ),
        WrongModel(
            "Your function moves whole records for every field, as if every layout were an array of structs.",
            (_always("aos"), _a_record_per_field),
        ),
        WrongModel(
            "Your function treats tiles as a struct of arrays. A narrow tile ends before it has filled a sector, or "
            "inside of one.",
            (_tiles_are_arrays,),
        ),
        WrongModel("Your function treats tiles as an array of structs.", (_tiles_are_records,)),
    ),
)
