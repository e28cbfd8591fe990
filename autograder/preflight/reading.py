"""From the bytes of a file to cells: whatever can be read for certain is read, whatever else is a problem."""

from __future__ import annotations

import codecs
import json
import re
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from autograder.preflight.names import Names, names_of
from autograder.preflight.notes import Notes, Unreadable, shown

__all__ = ["Draft", "read"]

MOST_CELLS = 10_000
MOST_TEXT = 20 * 2**20
"""Characters of all cells together, outputs not counted."""

DEEPEST = "expected a notebook, found JSON that is nested without end; ask for a new upload"

LATIN = {
    0xDC00 + byte: bytes([byte]).decode("cp1252", "replace").replace("\ufffd", chr(byte)) for byte in range(128, 256)
}
"""What Python makes of a byte that is no UTF-8 -> the character that Windows means by that byte."""

UNFIT = re.compile("[\0\ud800-\udfff]")
"""Characters that no Python file and no UTF-8 can hold."""

IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")


@dataclass
class Draft:
    """One submitted cell, with what could be read of it."""

    number: int
    """Its place in the submitted notebook, from 1."""
    kind: str
    """"code", "markdown" or "raw"."""
    source: str
    ids: tuple[str, ...] = ()
    """Its cell id; Colab keeps one in the metadata."""
    mark: dict[str, Any] = field(default_factory=dict)
    """nbgrader's metadata."""
    attachments: dict[str, dict[str, str]] = field(default_factory=dict)
    """Pictures pasted into a text: name -> media type -> base64."""

    @cached_property
    def names(self) -> Names:
        """Names that its text binds and uses; a text cell has some only if all of it is Python."""
        names = names_of(self.source)
        return names if self.kind == "code" or names.parsed else Names()

    @property
    def where(self) -> str:
        """How messages call it."""
        return f"cell {self.number}"


def read(data: bytes, notes: Notes) -> list[list[Draft]]:
    """The cells of a notebook; two lists when git could not merge it, one for each side. Raises Unreadable."""
    text = _text(data, notes)
    try:
        return [_drafts(document, notes) for document in _documents(text, notes)]
    except RecursionError as error:
        raise Unreadable(DEEPEST) from error


def _text(data: bytes, notes: Notes) -> str:
    stripped = data.rstrip(b"\0 \r\n\t")
    tail = data[len(stripped) :]
    if not stripped:
        raise Unreadable("expected a notebook, the file is empty; ask for a new upload")
    encoding = json.detect_encoding(data)
    if encoding.startswith(("utf-16", "utf-32")):
        try:
            text = data.decode(encoding).rstrip("\0 \r\n\t")
        except UnicodeDecodeError as error:
            raise Unreadable(f"expected UTF-8 text, found damaged {encoding.upper()}; ask for a new upload") from error
        notes.repair(f"the file was {encoding[:6].upper()} text instead of UTF-8")
        return text.removeprefix("\ufeff")
    if data.startswith(codecs.BOM_UTF8):
        notes.repair("a byte order mark at the start of the file was removed")
        stripped = stripped.removeprefix(codecs.BOM_UTF8)
    if b"\0" in tail:
        notes.repair("zero bytes at the end of the file were removed")
    try:
        return stripped.decode("utf-8")
    except UnicodeDecodeError:
        notes.repair("the file was not UTF-8 throughout; the other bytes were read as Windows text (cp1252)")
        notes.flag("", "letters outside ASCII may be wrong: the file was damaged and read as Windows text")
    return stripped.decode("utf-8", "surrogateescape").translate(LATIN)


def _documents(text: str, notes: Notes) -> list[Any]:
    try:
        return [_json(text, notes)]
    except json.JSONDecodeError as error:
        sides = _merge_sides(text)
        if sides is None:
            raise Unreadable(
                f"expected a notebook, the JSON breaks off or is damaged at line {error.lineno} ({error.msg}); "
                "ask for a new upload"
            ) from error
    try:
        return [_json(side, notes) for side in sides]
    except json.JSONDecodeError as error:
        raise Unreadable(
            "expected a notebook, found git merge markers, and the two sides are no notebooks; ask for a merged one"
        ) from error


def _json(text: str, notes: Notes) -> Any:
    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            for name, times in Counter(name for name, _ in pairs).items():
                if times > 1:
                    notes.repair("keys stood twice in one place of the file; the last one was used", shown(name))
        return found

    # Python refuses, or takes minutes for, numbers of thousands of digits. No number of a notebook matters here.
    options: dict[str, Any] = {"object_pairs_hook": unique, "parse_int": lambda digits: int(digits[:18])}
    try:
        return json.loads(text, **options)
    except json.JSONDecodeError as error:
        if not error.msg.startswith("Invalid control character"):
            raise
    document = json.loads(text, strict=False, **options)
    notes.repair("raw line ends or control characters stood inside the file's texts; they were kept as text")
    return document


def _merge_sides(text: str) -> tuple[str, str] | None:
    """Both sides of all conflicts that git wrote into a file; None when there is none, or one without an end."""
    ours: list[str] = []
    theirs: list[str] = []
    side, conflicts = "both", 0
    turns = {("both", "<"): "ours", ("ours", "|"): "base", ("ours", "="): "theirs", ("base", "="): "theirs"}
    turns["theirs", ">"] = "both"
    for line in text.split("\n"):
        if re.match(r"(<{7}|\|{7}|={7}|>{7})(\s|$)", line):
            if (side, line[0]) not in turns:
                return None
            side = turns[side, line[0]]
            conflicts += side == "both"
            continue
        if side in ("both", "ours"):
            ours.append(line)
        if side in ("both", "theirs"):
            theirs.append(line)
    return ("\n".join(ours), "\n".join(theirs)) if conflicts and side == "both" else None


def _drafts(document: Any, notes: Notes) -> list[Draft]:
    if not isinstance(document, dict):
        raise Unreadable(f"expected a notebook, found a JSON {type(document).__name__}; ask for the .ipynb file itself")
    cells = _cells(document)
    if cells is None:
        keys = ", ".join(shown(key) for key in list(document)[:5]) or "nothing"
        raise Unreadable(f"expected a notebook with cells, found {keys}; ask for the .ipynb file itself")
    if len(cells) > MOST_CELLS:
        raise Unreadable(f"expected at most {MOST_CELLS} cells, found {len(cells)}; look at the notebook by hand")
    version = document.get("nbformat")
    if version != 4:
        notes.repair(f"the notebook's format was {shown(str(version))}; it was read as format 4")
    _report_language(document, notes)
    drafts = [_draft(cell, number, notes) for number, cell in enumerate(cells, 1) if isinstance(cell, dict)]
    for number in (number for number, cell in enumerate(cells, 1) if not isinstance(cell, dict)):
        notes.repair("left out, because it was no cell", f"cell {number}")
    if sum(len(draft.source) for draft in drafts) > MOST_TEXT:
        raise Unreadable(f"expected at most {MOST_TEXT // 2**20} MiB of text in cells; look at the notebook by hand")
    return drafts


def _cells(document: dict[str, Any]) -> list[Any] | None:
    if isinstance(document.get("cells"), list):
        return list(document["cells"])
    sheets = document.get("worksheets")  # format 3 and older
    if not isinstance(sheets, list):
        return None
    parts = [sheet["cells"] for sheet in sheets if isinstance(sheet, dict) and isinstance(sheet.get("cells"), list)]
    return [cell for part in parts for cell in part]


def _report_language(document: dict[str, Any], notes: Notes) -> None:
    metadata = _dict(document.get("metadata"))
    kernel, info = _dict(metadata.get("kernelspec")), _dict(metadata.get("language_info"))
    for language in (kernel.get("language"), info.get("name")):
        if language is not None and str(language).lower() not in ("python", "ipython", "python3"):
            notes.repair("the notebook named another language than Python; Python was used", shown(str(language)))


def _draft(cell: dict[str, Any], number: int, notes: Notes) -> Draft:
    metadata = _dict(cell.get("metadata"))
    kind, source = _kind_and_source(cell, f"cell {number}", notes)
    tags = metadata.get("tags")
    if isinstance(tags, list) and "skip-execution" in tags:
        notes.repair("a tag kept a cell from running; it was dropped", f"cell {number}")
    attachments = _dict(cell.get("attachments")) if kind == "markdown" else {}
    pictures = {name: _pictures(bundle) for name, bundle in attachments.items() if not UNFIT.search(name)}
    kept = {name: bundle for name, bundle in pictures.items() if bundle}
    if len(kept) < len(attachments):
        notes.repair("an attachment that is no picture was left out", f"cell {number}")
    ids = tuple(name for name in (cell.get("id"), metadata.get("id")) if isinstance(name, str))
    return Draft(number, kind, source, ids, _dict(metadata.get("nbgrader")), kept)


def _pictures(bundle: Any) -> dict[str, str]:
    return {kind: data for kind, data in _dict(bundle).items() if kind in IMAGES and isinstance(data, str)}


def _kind_and_source(cell: dict[str, Any], where: str, notes: Notes) -> tuple[str, str]:
    kind = cell.get("cell_type")
    source = cell.get("source", cell.get("input"))
    if isinstance(source, list) and all(isinstance(line, str) for line in source):
        source = "".join(source)
    if kind in ("heading", "html"):  # format 3
        kind, level = "markdown", cell.get("level")
        if isinstance(source, str) and isinstance(level, int) and 0 < level < 7:
            source = f"{'#' * level} {source}"
    if kind not in ("code", "markdown", "raw"):
        notes.repair("a cell of no known type was kept as plain text", where)
        kind = "raw"
    if not isinstance(source, str):
        # A list with something else between its lines still holds the student's lines.
        lines = [line for line in source if isinstance(line, str)] if isinstance(source, list) else []
        notes.repair("the text of a cell was damaged; what was text in it was kept", where)
        source = "".join(lines)
    if UNFIT.search(source):
        notes.repair("characters that no text can hold were removed", where)
        source = UNFIT.sub("", source)
    return kind, source.replace("\r\n", "\n").replace("\r", "\n")


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
