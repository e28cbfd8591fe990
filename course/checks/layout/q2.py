"""Question 2: a warp reads one field of a struct of four floats, or all of them."""

from __future__ import annotations

from course.checks.parts import Misconception, Number
from course.checks.question import Question
from course.models.coalescing import WARP_LANES, coalesce
from course.models.layout import Layout, Records, struct

__all__ = ["QUESTION"]

_RECORD = struct(dict.fromkeys("xyzw", "f4"))
_FLOAT = _RECORD.field_bytes[0]
_FIELDS = len(_RECORD.names)


def _records(layout: Layout) -> Records:
    return Records(_RECORD, layout, WARP_LANES)


def _lines(layout: Layout) -> int:
    addresses = _records(layout).addresses("x", range(WARP_LANES))
    return int(coalesce(addresses, _FLOAT).lines.sum())


_aos, _soa = (_records(layout).traffic(["x"]) for layout in ("aos", "soa"))
_aos_all, _soa_all = (_records(layout).traffic() for layout in ("aos", "soa"))
_aos_lines, _soa_lines = _lines("aos"), _lines("soa")
_ONE_REQUEST = _aos.requests

QUESTION = Question(
    name="layout/q2",
    statement=(
        "A record is a struct of four floats: `x`, `y`, `z`, `w`, 4 bytes each. A kernel has one thread for each "
        "record. One warp reads field `x` of its 32 records. First the records are an array of structs, then a "
        "struct of arrays. Every array starts at the beginning of a line. Then a second kernel reads all four "
        "fields, one after the other."
    ),
    parts=(
        Number(
            name="aos_sectors",
            points=1,
            asks="sectors that the request for x touches in the array of structs",
            unit="sectors",
            expected=_aos.sectors,
            hint="How many bytes is it from the x of one lane to the x of the next? How many of them fit in a sector?",
            misconceptions=(
                Misconception(
                    _soa.sectors,
                    "This is the count when the x of neighbouring lanes are neighbours (or it counts lines). Here "
                    "three other fields lie between them.",
                ),
                Misconception(
                    WARP_LANES,
                    "This gives every lane a sector of its own. Is a record as long as a sector?",
                ),
                Misconception(
                    _aos_all.sectors,
                    "This is the cost of reading every field. One field is one request.",
                ),
                Misconception(
                    _aos.l1_bytes,
                    "These are the bytes that are moved. Asked is the number of sectors.",
                ),
            ),
        ),
        Number(
            name="aos_lines",
            points=0.5,
            asks="lines that this request touches",
            unit="lines",
            expected=_aos_lines,
            hint="How many records fit in a line?",
            misconceptions=(
                Misconception(_aos.sectors, "This counts sectors. A line holds several of them."),
                Misconception(
                    _soa_lines,
                    "This is the count when the x of neighbouring lanes are neighbours, or it counts the request.",
                ),
                Misconception(WARP_LANES, "This gives every lane a line of its own. Several records lie in one line."),
            ),
        ),
        Number(
            name="soa_sectors",
            points=1,
            asks="sectors that the request for x touches in the struct of arrays",
            unit="sectors",
            expected=_soa.sectors,
            hint="All x lie side by side now. How many sectors do the bytes of a warp's x fill?",
            misconceptions=(
                Misconception(
                    _aos.sectors,
                    "This is the count in the array of structs. In a struct of arrays no other field lies between.",
                ),
                Misconception(_soa_lines, "This counts lines, or requests. A line is made of several sectors."),
                Misconception(WARP_LANES, "This gives every lane a sector of its own. Neighbours share one here."),
                Misconception(_soa.useful_bytes, "These are bytes. Asked is how many sectors hold them."),
            ),
        ),
        Number(
            name="soa_lines",
            points=0.5,
            asks="lines that this request touches",
            unit="lines",
            expected=_soa_lines,
            hint="How many bytes does the warp ask for, and how many does a line hold?",
            misconceptions=(
                Misconception(
                    _soa.sectors,
                    "This counts sectors, or it is the number of lines in the array of structs.",
                ),
                Misconception(_aos.sectors, "This is the number of sectors in the array of structs."),
                Misconception(WARP_LANES, "This counts lanes. They share a line here."),
            ),
        ),
        Number(
            name="all_per_request",
            points=1,
            asks="sectors of an average request when the second kernel reads all four fields of the array of structs",
            unit="sectors per request",
            expected=_aos_all.sectors_per_request,
            hint="Reading four fields is four requests. Which sectors does each of them touch?",
            misconceptions=(
                Misconception(
                    _soa_all.sectors_per_request,
                    "This shares the sectors out among the requests. A sector that several requests touch is counted "
                    "in each of them: what happened before does not change the addresses of this one.",
                ),
                Misconception(
                    _aos_all.sectors,
                    "This is the sum over all requests. Asked is one of them.",
                ),
                Misconception(
                    WARP_LANES,
                    "This gives every lane a sector of its own. Several records lie in one sector.",
                ),
                Misconception(
                    _ONE_REQUEST,
                    "This is the answer for the whole bytes that are used, or it counts requests. Count the sectors "
                    "that one request touches.",
                ),
            ),
        ),
        Number(
            name="dram_ratio",
            points=1,
            asks="bytes from the memory chips when all four fields are read: array of structs, divided by struct of "
            "arrays, if each sector that the caches got once stays there until it is no longer needed",
            unit="a quotient",
            expected=_aos_all.dram_bytes / _soa_all.dram_bytes,
            hint="Which bytes of the records are needed by nobody now?",
            misconceptions=(
                Misconception(
                    _aos.dram_bytes / _soa.dram_bytes,
                    "This is the quotient for one field, or of the sectors of the requests. When every field is read, "
                    "the caches serve the later requests from the sectors of the first one.",
                ),
                Misconception(
                    _soa.dram_bytes / _aos.dram_bytes,
                    "This is the quotient for one field, and upside down.",
                ),
                Misconception(
                    _aos_all.sectors / _soa.sectors,
                    "This compares all requests for the records with one request for an array.",
                ),
            ),
        ),
    ),
)
