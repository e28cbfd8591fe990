"""The annotated listing of a profile: each source line, what its accesses cost, what is wrong with it."""

from __future__ import annotations

import html as _html
import math
import textwrap

from course.profiling.launch_counts import LaunchCounts, Line
from course.profiling.rows import SiteRow, percent, site_row, totals
from course.simulator.access import Finding

__all__ = ["html", "text"]

_BAR = 8
"""Characters of a full bar."""
_COLUMNS = 110
"""Width of the text listing."""
_SOURCE = _COLUMNS - 13
"""Characters of source that a line of it has room for."""


def text(p: LaunchCounts) -> str:
    """For a terminal, about 100 columns."""
    out = ["lanes  line"]
    for line in p.lines:
        out.append(f"{_lanes(line, p.warp_lanes):>5}  {line.number:4}  {_cut(line.text, _SOURCE)}")
        out += [_text_row(row) for row in map(site_row, line.sites)]
        out += [part for sentence in _rewrites(p, line) for part in _text_rewrite(sentence)]
        out += [part for finding in line.findings for part in _text_finding(finding)]
    listed = {line.number for line in p.lines}
    for row in [site_row(c) for c in p.sites if c.site.line not in listed]:
        out.append(_text_row(row))
    for finding in [f for f in p.findings if f.line not in listed]:
        out += _text_finding(finding)
    out.append("")
    width = max(len(total.name) for total in totals(p))
    out += [f"{total.name.ljust(width)}  {total.value}" for total in totals(p)]
    out.append(f"{'findings'.ljust(width)}  {_verdict(p)}")
    return "\n".join(out)


def _rewrites(p: LaunchCounts, line: Line) -> tuple[str, ...]:
    return () if p.machine is None else p.machine.rewrites_of(line.number)


def _text_rewrite(sentence: str) -> list[str]:
    wrapped = textwrap.wrap(f"compiled: {sentence}", _COLUMNS - 13, subsequent_indent="  ")
    return [f"{'':13}{part}" for part in wrapped]


def _verdict(p: LaunchCounts) -> str:
    if not p.findings:
        return "none"
    kinds = sorted({finding.kind for finding in p.findings})
    return f"{len(p.findings)} ({', '.join(kinds)}), marked with ! above"


def _lanes(line: Line, warp_lanes: int) -> str:
    """Active lanes of an average instruction of the line, where some were missing."""
    if line.executed is None or math.isnan(line.executed.threads_per_instruction):
        return ""
    lanes = line.executed.threads_per_instruction
    return str(warp_lanes) if lanes == warp_lanes else f"{lanes:.1f}"


def _text_row(row: SiteRow) -> str:
    access = f"{row.note}  {row.access}" if row.note else row.access
    measured = f"{_bar(row.efficiency)} {percent(row.efficiency):>6}" if not math.isnan(row.efficiency) else " " * 15
    return f"             {row.what:13} {measured}  {row.rate:20}  {row.count:>24}  {_cut(access, 40)}".rstrip()


def _bar(efficiency: float) -> str:
    full = min(_BAR, max(1, round(_BAR * efficiency)))
    return "█" * full + "░" * (_BAR - full)


def _text_finding(finding: Finding) -> list[str]:
    said = f"! {finding.kind}: {finding.message}{_where(finding)}"
    wrapped = textwrap.wrap(said, _COLUMNS - 11, subsequent_indent="  ")
    wrapped += textwrap.wrap(finding.remedy, _COLUMNS - 13, initial_indent="  ", subsequent_indent="  ")
    return [f"{'':11}{part}" for part in wrapped]


def _where(finding: Finding) -> str:
    said = [f"lane {finding.lane}"] if finding.lane is not None else []
    said += [f"block {finding.block}"] if finding.block is not None else []
    said += [f"{finding.count:,} times"] if finding.count > 1 else []
    return f" ({', '.join(said)})" if said else ""


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


# HTML ------------------------------------------------------------------------------------------

_STYLE = """
.course-profile{--good:#0072b2;--bad:#d55e00;--track:rgba(128,128,128,.28);--soft:rgba(128,128,128,.12);
font:13px/1.45 var(--jp-code-font-family,ui-monospace,Menlo,Consolas,monospace);max-width:100%;overflow-x:auto}
.course-profile table{border-collapse:collapse;table-layout:auto!important;width:100%;margin:0}
.course-profile tr{background:transparent!important}
.course-profile tbody th{width:1%}
.course-profile td,.course-profile th{padding:1px 8px;text-align:left!important;vertical-align:top;border:0;
white-space:pre;font-weight:normal;background:transparent}
.course-profile .n{text-align:right!important;opacity:.75}
.course-profile tr.site td{background:var(--soft)}
.course-profile tr.site .n{opacity:1}
.course-profile tr.finding td{white-space:normal;background:var(--soft)}
.course-profile tr.finding td:last-child{border-left:4px solid var(--bad)}
.course-profile .bar{display:inline-block;width:80px;height:10px;background:var(--track);vertical-align:baseline}
.course-profile .bar i{display:block;height:10px;background:var(--good)}
.course-profile .bar i.low{background:repeating-linear-gradient(45deg,var(--bad) 0 4px,#fff 4px 6px)}
"""


def html(p: LaunchCounts) -> str:
    """For a notebook; follows its light or dark theme."""
    body = []
    for line in p.lines:
        body.append(
            f'<tr><td class="n">{_lanes(line, p.warp_lanes)}</td><td class="n">{line.number}</td>'
            f'<td colspan="5">{_escape(line.text)}</td></tr>'
        )
        body += [_html_row(site_row(c)) for c in line.sites]
        body += [_html_rewrite(sentence) for sentence in _rewrites(p, line)]
        body += [_html_finding(f) for f in line.findings]
    listed = {line.number for line in p.lines}
    body += [_html_row(site_row(c)) for c in p.sites if c.site.line not in listed]
    body += [_html_finding(f) for f in p.findings if f.line not in listed]
    head = "".join(
        f'<th scope="col"{extra}>{name}</th>'
        for name, extra in (
            ("lanes", ' class="n"'),
            ("line", ' class="n"'),
            (f"source of {_escape(p.kernel)}", ' colspan="5"'),
        )
    )
    summary = "".join(
        f'<tr><th scope="row">{_escape(t.name)}</th><td style="white-space:normal">{_escape(t.value)}</td></tr>'
        for t in totals(p)
    )
    summary += f'<tr><th scope="row">findings</th><td>{_escape(_verdict(p))}</td></tr>'
    # Reachable by keyboard, since a long line makes it scroll.
    region = f'class="course-profile" role="region" tabindex="0" aria-label="Profile of {_escape(p.kernel)}"'
    return (
        f"<div {region}><style>{_STYLE}</style>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>"
        f'<table style="margin-top:8px"><tbody>{summary}</tbody></table></div>'
    )


def _html_row(row: SiteRow) -> str:
    bar = ""
    if not math.isnan(row.efficiency):
        share = min(1.0, max(0.0, row.efficiency))
        low = ' class="low"' if share < 0.5 else ""
        width = max(3, round(100 * share))
        bar = (
            f'<span class="bar" aria-hidden="true"><i{low} style="width:{width}%"></i></span> {percent(row.efficiency)}'
        )
    what, rate, count = (_escape(cell) for cell in (f"  {row.what}", row.rate, row.count))
    note = f"<strong>{_escape(row.note)}</strong>  " if row.note else ""
    return (
        f'<tr class="site"><td></td><td></td><td>{what}</td><td>{bar}</td><td>{rate}</td><td class="n">{count}</td>'
        f"<td>{note}{_escape(row.access)}</td></tr>"
    )


def _html_rewrite(sentence: str) -> str:
    return f'<tr class="site"><td></td><td></td><td colspan="5">compiled: {_escape(sentence)}</td></tr>'


def _html_finding(finding: Finding) -> str:
    return (
        f'<tr class="finding"><td></td><td></td><td colspan="5"><strong>! {_escape(finding.kind)}:</strong> '
        f"{_escape(finding.message)}{_escape(_where(finding))} <em>{_escape(finding.remedy)}</em></td></tr>"
    )


def _escape(text: str) -> str:
    return _html.escape(text)
