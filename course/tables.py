"""A small table that reads well in a terminal and in a notebook."""

from __future__ import annotations

import html
from collections.abc import Sequence

__all__ = ["as_html", "as_text"]


def as_text(head: Sequence[str], rows: Sequence[Sequence[str]], *, right: bool = True) -> str:
    """Columns aligned: the first to the left, the others to the right (numbers) or, without `right`, to the left."""
    table = [head, *rows]
    widths = [max(len(row[i]) for row in table) for i in range(len(head))]
    return "\n".join(
        "  ".join(f"{cell:{'>' if right and i else '<'}{widths[i]}}" for i, cell in enumerate(row)).rstrip()
        for row in table
    )


def as_html(
    head: Sequence[str], rows: Sequence[Sequence[str]], caption: str = "", *, name: str, right: bool = True
) -> str:
    """The same as an HTML table; JupyterLab aligns its cells to the right by itself.

    name: what a screen reader calls the place around the table. A table that is wider than its place, as with large
    letters, scrolls in this place, and the keyboard reaches it.
    """
    left = "" if right else ' style="text-align:left"'
    # A column without a title has no header: an empty one would be announced as a header without a name.
    titles = "".join(f'<th scope="col"{left}>{html.escape(title)}</th>' if title else "<td></td>" for title in head)
    body = "".join("<tr>" + "".join(f"<td{left}>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    note = f"<p><small>{html.escape(caption)}</small></p>" if caption else ""
    table = f"<table><thead><tr>{titles}</tr></thead><tbody>{body}</tbody></table>"
    place = f'role="group" tabindex="0" aria-label="{html.escape(name)}" style="overflow-x:auto"'
    return f"<div {place}>{table}</div>{note}"
