"""The field guide: from what you see, to the counter that explains it, to what helps. As a chart and as a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from course.figures.parts import frame, picture
from course.figures.svg import clean, element, text

__all__ = ["GUIDE", "TABLE_CSS", "Question", "Symptom", "chart_image", "chart_sentence", "chart_svg", "table"]


@dataclass(frozen=True)
class Symptom:
    """One row of the guide."""

    seen: str
    counters: tuple[str, ...]
    """What to read: Nsight Compute's metrics, or a tool."""
    here: str
    """The same in a profile of this course; '' when only a GPU can say it."""
    says: str
    fix: str
    chapter: str


GUIDE = (
    Symptom(
        "The result is right, but not every time",
        ("compute-sanitizer --tool racecheck",),
        "findings",
        "A warp reads what another one has not written yet, or writes what another one still reads.",
        "A barrier between store and load; in a loop a second one before the next store; none where lanes diverge.",
        "tiling",
    ),
    Symptom(
        "The program stops: misaligned address",
        ("compute-sanitizer --tool memcheck",),
        "findings",
        "An access of 8 or 16 bytes starts at an address that is no multiple of its size.",
        "Single elements up to the first good address; or start views at a multiple of the width.",
        "coalescing",
    ),
    Symptom(
        "Slow, and the sectors per request are many",
        (
            "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio",
            "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_st.ratio",
        ),
        "sectors_per_request",
        "For 4-byte elements: 4 uses all bytes, 32 is a sector for every lane. 5 is a start inside a sector, and costs "
        "little.",
        "Neighbouring lanes take neighbouring elements: another index, a struct of arrays, a tile in shared memory.",
        "coalescing",
    ),
    Symptom(
        "More DRAM bytes than the algorithm needs",
        ("dram__bytes_read.sum", "dram__bytes_write.sum"),
        "dram",
        "Divided by the useful bytes this is the amplification.",
        "Use every byte of a sector while it is in the cache: another layout, another order of work.",
        "layout",
    ),
    Symptom(
        "Shared memory is used, and it is still slow",
        (
            "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
            "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
        ),
        "shared_wavefronts",
        "More shared wavefronts than conflict-free accesses take: lanes want different words of one bank.",
        "Make rows one word longer, or change which lane takes which element. Measure: DRAM may hide a small conflict.",
        "tiling",
    ),
    Symptom(
        "DRAM is busy nearly all the time",
        ("dram__throughput.avg.pct_of_peak_sustained_elapsed",),
        "arithmetic_intensity",
        "The kernel is at the memory roof. If its bytes are all useful, coalescing is done.",
        "Move fewer bytes: reuse them in tiles, fuse kernels, use narrower types. More FLOP are free.",
        "roofline",
    ),
    Symptom(
        "The arithmetic units are busy nearly all the time",
        ("sm__throughput.avg.pct_of_peak_sustained_elapsed",),
        "flops",
        "The kernel is right of the ridge: compute-bound.",
        "Fewer or cheaper operations, tensor units, no accidental float64. Leave the memory as it is.",
        "roofline",
    ),
    Symptom(
        "Neither is busy",
        ("sm__warps_active.avg.pct_of_peak_sustained_active", "launch__registers_per_thread"),
        "",
        "Too few bytes are in flight: warps wait, and there are no others to run.",
        "Wider loads, more loads for each lane; or more resident warps: fewer registers, less shared memory a block.",
        "occupancy",
    ),
    Symptom(
        "Slower after an unroll or a larger tile",
        ("launch__registers_per_thread", "launch__occupancy_limit_registers", "launch__occupancy_limit_shared_mem"),
        "",
        "Occupancy fell, or registers spill to local memory, which lies in DRAM.",
        "Find the binding limit first. A smaller tile, or launch bounds; then look whether the spills are worth it.",
        "occupancy",
    ),
    Symptom(
        "Load and compute take turns",
        ("smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio",),
        "",
        "Warps wait for global memory before each tile, and compute while nothing is loaded.",
        "Copy the next tile with cp.async while the present one is used; pay with shared memory.",
        "cp_async",
    ),
)


@dataclass(frozen=True)
class Question:
    """One step of the chart: asked from the top down, the first yes decides."""

    asks: str
    reads: str
    then: str
    chapter: str


CHART = (
    Question("Wrong now and then, or a finding?", "findings", "A barrier, a tail, an alignment", "tiling"),
    Question(
        "More sectors per request than the width needs?", "sectors ÷ requests", "Index, layout, tile", "coalescing"
    ),
    Question("More shared wavefronts than without conflicts?", "wavefronts", "Pad or rearrange the tile", "tiling"),
    Question("DRAM near its peak?", "DRAM bytes ÷ time", "Move fewer bytes: reuse, fuse, narrow", "roofline"),
    Question("Arithmetic near its peak?", "FLOP ÷ time", "Fewer or cheaper operations", "roofline"),
    Question("Few bytes in flight?", "occupancy × loads", "Wider loads, more warps", "occupancy"),
    Question("Load and compute take turns?", "stalls on loads", "Copy ahead with cp.async", "cp_async"),
)

TABLE_CSS = """\
.gmc table.guide{table-layout:fixed;width:100%}
.gmc .guide :is(th,td){vertical-align:top;padding:4px 10px 4px 0;border-bottom:1px solid var(--rule);font-size:12.5px}
.gmc .guide code{font-size:11px;background:none;padding:0}
.gmc .guide tbody th{font-weight:600}
"""
"""Of the table alone; everything else has the style of the page."""

WIDTH = 800
_ROW, _BOX = 64, 46
HEIGHT = _ROW * len(CHART) + 44
_ASK_WIDTH, _FIX_X, _FIX_WIDTH = 392, 470, 329


def chart_sentence() -> str:
    """The chart in words: alt text and caption."""
    steps = "; ".join(f"{n}. {one.asks} ({one.reads}) Yes: {one.then}" for n, one in enumerate(CHART, start=1))
    return f"Ask from the top down, and stop at the first yes. {steps}. All no: it is as fast as this card allows."


def chart_image() -> str:
    """The chart as ``<img alt>``. Always light, fit for paper."""
    return picture(chart_svg(alone=True), chart_sentence(), WIDTH)


def chart_svg(*, alone: bool = False) -> str:
    """The chart as an SVG; `alone`: with its own style, else it takes the page's."""
    body: list[str] = []
    for row, one in enumerate(CHART):
        y = row * _ROW + 2
        body += [
            element("rect", x=1, y=y, width=_ASK_WIDTH, height=_BOX, rx=3, class_="box"),
            text(14, y + 19, f"{row + 1}. {one.asks}", class_="tier"),
            text(14, y + 37, f"read: {one.reads}", class_="quiet"),
            element("path", d=f"M{_ASK_WIDTH + 4} {y + 23}H{_FIX_X - 4}m-7 -4l7 4l-7 4", class_="arrow"),
            text((_ASK_WIDTH + _FIX_X) / 2, y + 17, "yes", class_="middle"),
            element("rect", x=_FIX_X, y=y, width=_FIX_WIDTH, height=_BOX, rx=3, class_="ground"),
            text(_FIX_X + 14, y + 19, one.then, class_="tier"),
            text(_FIX_X + 14, y + 37, f"chapter {one.chapter}", class_="quiet"),
            element("path", d=f"M40 {y + _BOX + 2}v{_ROW - _BOX - 5}m-4 -6l4 6l4 -6", class_="arrow"),
            text(50, y + _BOX + 13, "no", class_=None),
        ]
    body.append(text(14, HEIGHT - 16, "It is as fast as this card allows. Then only another algorithm helps."))
    return frame(body, WIDTH, HEIGHT, chart_sentence(), alone=alone)


def table(rows: Sequence[Symptom] = GUIDE) -> str:
    """The guide as an HTML table."""
    heads = ("You see", "Read (ncu, or a tool)", "In a profile here", "It says", "What helps", "Chapter")
    head = element("tr", "".join(element("th", clean(one), scope="col") for one in heads))
    body = "".join(
        element(
            "tr",
            element("th", clean(row.seen), scope="row")
            + element("td", element("br").join(_code(one) for one in row.counters))
            + element("td", _code(row.here) if row.here else "–")
            + "".join(element("td", clean(one)) for one in (row.says, row.fix, row.chapter)),
        )
        for row in rows
    )
    columns = "".join(element("col", style=f"width:{width}%") for width in (14, 25, 13, 19, 19, 10))
    return element(
        "table", element("colgroup", columns) + element("thead", head) + element("tbody", body), class_="words guide"
    )


def _code(name: str) -> str:
    """A long name that may break behind its underscores and points."""
    return element("code", clean(name).replace("_", "_<wbr>").replace(".", ".<wbr>"))
