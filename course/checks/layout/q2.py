"""Question 2: a warp reads one field of a struct of four floats, or all of them."""

from __future__ import annotations

from course.checks.parts import Misconception, Number
from course.checks.question import Question
from course.checks.variants import Variants
from course.models.coalescing import WARP_LANES, coalesce
from course.models.layout import Layout, Records, struct

__all__ = ["QUESTION", "VARIANTS"]

_FLOAT = 4
_NAMES = ("x", "y", "z", "w", "u", "v", "q")
_LAYOUTS: tuple[Layout, Layout] = ("aos", "soa")
_WORDS = {2: "two", 3: "three", 4: "four", 5: "five", 6: "six", 7: "seven"}


def _lines(records: Records) -> int:
    return int(coalesce(records.addresses("x", range(WARP_LANES)), _FLOAT).lines.sum())


def _question(fields: int) -> Question:
    """A struct of so many floats."""
    names = _NAMES[:fields]
    in_structs, in_arrays = (Records(struct(dict.fromkeys(names, "f4")), layout, WARP_LANES) for layout in _LAYOUTS)
    aos, soa = in_structs.traffic(["x"]), in_arrays.traffic(["x"])
    aos_all, soa_all = in_structs.traffic(), in_arrays.traffic()
    aos_lines, soa_lines = _lines(in_structs), _lines(in_arrays)
    listed, others = ", ".join(f"`{name}`" for name in names), _WORDS[fields - 1]
    return Question(
        name="layout/q2",
        statement=(
            f"A record is a struct of {_WORDS[fields]} floats: {listed}, 4 bytes each. A kernel has one thread for "
            "each record. One warp reads field `x` of its 32 records. First the records are an array of structs, then "
            "a struct of arrays. Every array starts at the beginning of a line. Then a second kernel reads all "
            f"{_WORDS[fields]} fields, one after the other."
        ),
        parts=(
            Number(
                name="aos_sectors",
                points=1,
                asks="sectors that the request for x touches in the array of structs",
                unit="sectors",
                expected=aos.sectors,
                hint="How many bytes is it from the x of one lane to the x of the next? How many of them fit in a "
                "sector?",
                misconceptions=(
                    Misconception(
                        soa.sectors,
                        "This is the count when the x of neighbouring lanes are neighbours (or it counts lines). Here "
                        f"{others} other fields lie between them.",
                    ),
                    Misconception(
                        WARP_LANES,
                        "This gives every lane a sector of its own. Is a record as long as a sector?",
                    ),
                    Misconception(
                        aos_all.sectors,
                        "This is the cost of reading every field. One field is one request.",
                    ),
                    Misconception(
                        aos.l1_bytes,
                        "These are the bytes that are moved. Asked is the number of sectors.",
                    ),
                ),
            ),
            Number(
                name="aos_lines",
                points=0.5,
                asks="lines that this request touches",
                unit="lines",
                expected=aos_lines,
                hint="How many records fit in a line?",
                misconceptions=(
                    Misconception(aos.sectors, "This counts sectors. A line holds several of them."),
                    Misconception(
                        soa_lines,
                        "This is the count when the x of neighbouring lanes are neighbours, or it counts the request.",
                    ),
                    Misconception(
                        WARP_LANES, "This gives every lane a line of its own. Several records lie in one line."
                    ),
                ),
            ),
            Number(
                name="soa_sectors",
                points=1,
                asks="sectors that the request for x touches in the struct of arrays",
                unit="sectors",
                expected=soa.sectors,
                hint="All x lie side by side now. How many sectors do the bytes of a warp's x fill?",
                misconceptions=(
                    Misconception(
                        aos.sectors,
                        "This is the count in the array of structs. In a struct of arrays no other field lies between.",
                    ),
                    Misconception(soa_lines, "This counts lines, or requests. A line is made of several sectors."),
                    Misconception(WARP_LANES, "This gives every lane a sector of its own. Neighbours share one here."),
                    Misconception(soa.useful_bytes, "These are bytes. Asked is how many sectors hold them."),
                ),
            ),
            Number(
                name="soa_lines",
                points=0.5,
                asks="lines that this request touches",
                unit="lines",
                expected=soa_lines,
                hint="How many bytes does the warp ask for, and how many does a line hold?",
                misconceptions=(
                    Misconception(
                        soa.sectors,
                        "This counts sectors, or it is the number of lines in the array of structs.",
                    ),
                    Misconception(aos.sectors, "This is the number of sectors in the array of structs."),
                    Misconception(WARP_LANES, "This counts lanes. They share a line here."),
                ),
            ),
            Number(
                name="all_per_request",
                points=1,
                asks=f"sectors of an average request when the second kernel reads all {_WORDS[fields]} fields of the "
                "array of structs",
                unit="sectors per request",
                expected=aos_all.sectors_per_request,
                hint=f"Reading {_WORDS[fields]} fields is {_WORDS[fields]} requests. Which sectors does each of them "
                "touch?",
                misconceptions=(
                    Misconception(
                        soa_all.sectors_per_request,
                        "This shares the sectors out among the requests. A sector that several requests touch is "
                        "counted in each of them: what happened before does not change the addresses of this one.",
                    ),
                    Misconception(
                        aos_all.sectors,
                        "This is the sum over all requests. Asked is one of them.",
                    ),
                    Misconception(
                        WARP_LANES,
                        "This gives every lane a sector of its own. Several records lie in one sector.",
                    ),
                    Misconception(
                        aos.requests,
                        "This is the answer for the whole bytes that are used, or it counts requests. Count the "
                        "sectors that one request touches.",
                    ),
                ),
            ),
            Number(
                name="dram_ratio",
                points=1,
                asks=f"bytes from the memory chips when all {_WORDS[fields]} fields are read: array of structs, "
                "divided by struct of arrays, if each sector that the caches got once stays there until it is no "
                "longer needed",
                unit="a quotient",
                expected=aos_all.dram_bytes / soa_all.dram_bytes,
                hint="Which bytes of the records are needed by nobody now?",
                misconceptions=(
                    Misconception(
                        aos.dram_bytes / soa.dram_bytes,
                        "This is the quotient for one field, or of the sectors of the requests. When every field is "
                        "read, the caches serve the later requests from the sectors of the first one.",
                    ),
                    Misconception(
                        soa.dram_bytes / aos.dram_bytes,
                        "This is the quotient for one field, and upside down.",
                    ),
                    Misconception(
                        aos_all.sectors / soa.sectors,
                        "This compares all requests for the records with one request for an array.",
                    ),
                ),
            ),
        ),
    )


VARIANTS = Variants(_question, ((4,), (3,), (5,), (6,), (7,)))
"""Fields of the struct."""
QUESTION = VARIANTS.published
