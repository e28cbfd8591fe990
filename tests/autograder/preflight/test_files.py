"""Preflight: a folder as it was handed in, and the bytes of the notebook in it."""

from __future__ import annotations

import json
import os

import pytest

from autograder.preflight import look_over
from tests.autograder.preflight.cases import (
    COURSE,
    MASTER,
    OTHER_BYTES,
    PERFECT,
    PERFECT_BYTES,
    PERFECT_TEXT,
    RELEASED,
    TIME,
    answers,
    assert_gradable,
    cells_of,
    looked_over,
    raw,
    submit,
)

# --- bytes ----------------------------------------------------------------------------------------------------------


def conflict(text: str, line: str, ours: str, theirs: str, base: str = "") -> bytes:
    assert line in text
    middle = f"||||||| base\n{base}\n" if base else ""
    return text.replace(line, f"<<<<<<< HEAD\n{ours}\n{middle}=======\n{theirs}\n>>>>>>> mine", 1).encode()


KERNEL_LINE = next(line for line in PERFECT_TEXT.split("\n") if '"display_name"' in line)
ANSWER_LINE = next(line for line in PERFECT_TEXT.split("\n") if "q1 = dict(" in line and "None" not in line)

READABLE: dict[str, tuple[bytes, str]] = {
    "byte order mark": (b"\xef\xbb\xbf" + PERFECT_BYTES, "byte order mark"),
    "UTF-16": (PERFECT_TEXT.encode("utf-16"), "UTF-16"),
    "UTF-16 without a mark": (PERFECT_TEXT.encode("utf-16-be"), "UTF-16"),
    "UTF-32": (PERFECT_TEXT.encode("utf-32"), "UTF-32"),
    "zero bytes at the end": (PERFECT_BYTES + b"\0" * 4096, "zero bytes"),
    "a Windows byte": (PERFECT_BYTES.replace(b'"cells"', b'"\xfcber": "\x93", "cells"', 1), "Windows text"),
    "raw line ends in texts": (PERFECT_BYTES.replace(b'\\n",', b'\n",'), "raw line ends"),
    "NaN": (PERFECT_BYTES.replace(b'"cells"', b'"x": NaN, "y": -Infinity, "cells"', 1), ""),
    "a number of 100 000 digits": (PERFECT_BYTES.replace(b'"cells"', b'"x": ' + b"9" * 100_000 + b', "cells"', 1), ""),
    "keys twice": (PERFECT_BYTES.replace(b'"cells"', b'"cells": 1, "cells"', 1), "stood twice"),
    "conflict in metadata": (conflict(PERFECT_TEXT, KERNEL_LINE, KERNEL_LINE, '"display_name": "x",'), "git could not"),
    "conflict with its base": (conflict(PERFECT_TEXT, KERNEL_LINE, KERNEL_LINE, '"a": 1,', '"b": 1,'), "git could not"),
}


@pytest.mark.parametrize("case", READABLE)
def test_bytes_that_can_be_read_for_certain_are_read(case):
    data, expected = READABLE[case]
    prepared = looked_over(data)
    assert_gradable(prepared, "short")
    assert answers(cells_of(prepared)) == answers(PERFECT["short"].cells)
    said = "\n".join(prepared.repairs)
    assert expected in said if expected else said == ""


UNREADABLE: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "the file is empty"),
    "only zero bytes": (b"\0" * 5000, "the file is empty"),
    "truncated": (PERFECT_BYTES[:9000], "breaks off or is damaged at line"),
    "rubbish behind it": (PERFECT_BYTES + b"\n}\n]", "breaks off or is damaged at line"),
    "two notebooks in one": (PERFECT_BYTES * 2, "breaks off or is damaged at line"),
    "a web page": (b"<!DOCTYPE html><title>Log in</title>", "breaks off or is damaged at line 1"),
    "damaged UTF-16": (PERFECT_TEXT.encode("utf-16")[:-3] + b"\xd8", "UTF-16"),
    "a list": (b"[]", "found a JSON list"),
    "no cells": (b'{"nbformat": 4}', "expected a notebook with cells, found 'nbformat'"),
    "cells null": (b'{"cells": null}', "expected a notebook with cells"),
    "nested without end": (b'{"cells": ' + b"[" * 200_000 + b"]" * 200_000 + b"}", "nested without end"),
    "too many cells": (b'{"cells": [' + b"1," * 10_000 + b"1]}", "expected at most 10000 cells"),
    "conflict in an answer": (
        conflict(PERFECT_TEXT, ANSWER_LINE, ANSWER_LINE, ANSWER_LINE.replace("q1 = dict(", "q1 = dict(x=1, ")),
        "the two sides answer differently: q1-answer",
    ),
    "conflict that breaks both sides": (
        conflict(PERFECT_TEXT, KERNEL_LINE, "{", "{"),
        "the two sides are no notebooks",
    ),
    "conflict without an end": (PERFECT_BYTES.replace(b'"cells"', b'\n<<<<<<< HEAD\n"cells"', 1), "is damaged at line"),
    "no cell": (b'{"cells": [], "nbformat": 4}', "with 0 of its 19 graded cells; ask for the right notebook"),
    "another chapter": (json.dumps(raw(PERFECT["tiling"])).encode(), "it asks for checks of 'tiling'"),
}


@pytest.mark.parametrize("case", UNREADABLE)
def test_what_is_not_certain_is_a_problem_in_words(case):
    data, expected = UNREADABLE[case]
    prepared = looked_over(data)
    assert prepared.notebook is None
    assert prepared.problem.startswith("expected ")
    assert expected in prepared.problem


# --- files ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    ["coalescing (1).ipynb", "Copy of coalescing.ipynb", "coalescing-Copy1.ipynb", "Coalescing.IPYNB",
     "coalescing.ipynb.txt", "coalescing.ipynb.json", "coalescing.json", "coalescing", "ada final.ipynb"],
)  # fmt: skip
def test_a_renamed_notebook_is_found(name, tmp_path):
    place = submit(tmp_path, "coalescing", {name: PERFECT_BYTES})
    prepared = look_over(place, "coalescing", MASTER["short"], RELEASED["short"])
    assert prepared.repairs == (f"the notebook was not called coalescing.ipynb; used: '{name}'",)
    assert answers(cells_of(prepared)) == answers(PERFECT["short"].cells)


FOLDERS: dict[str, tuple[dict[str, bytes], str]] = {
    "nothing": ({}, "expected coalescing.ipynb, found nothing"),
    "a zip file": ({"work.zip": b"PK"}, "found 'work.zip'; unpack the archive"),
    "two that differ": (
        {"coalescing (1).ipynb": PERFECT_BYTES, "coalescing (2).ipynb": OTHER_BYTES},
        "found 'coalescing (1).ipynb', 'coalescing (2).ipynb', which differ; keep one of them",
    ),
    "two of other names": ({"a.ipynb": PERFECT_BYTES, "b.ipynb": OTHER_BYTES}, "found 'a.ipynb', 'b.ipynb'"),
    "too large": ({"coalescing.ipynb": b" " * (50 * 2**20 + 1)}, "larger than 50 MiB"),
    "only macOS leftovers": ({"._coalescing.ipynb": PERFECT_BYTES, ".DS_Store": b""}, "found nothing"),
    "a hidden name": ({"no\ntebook\x1b.ipynb": b"{}", "b.ipynb": b"[]"}, r"'no\ntebook\x1b.ipynb'"),
}


@pytest.mark.parametrize("case", FOLDERS)
def test_a_folder_without_one_notebook_is_a_problem(case, tmp_path):
    files, expected = FOLDERS[case]
    place = submit(tmp_path, "coalescing", files)
    prepared = look_over(place, "coalescing", MASTER["short"], RELEASED["short"])
    assert prepared.notebook is None
    assert expected in prepared.problem


def test_the_exact_name_wins_and_the_others_are_named():
    prepared = looked_over(
        PERFECT_BYTES, **{"coalescing (1).ipynb": OTHER_BYTES, "coalescing (2).ipynb": PERFECT_BYTES}
    )
    assert prepared.repairs == (
        "a second notebook was left out, because coalescing.ipynb lies beside it: 'coalescing (1).ipynb'",
        "a second notebook was left out, because it has the same content: 'coalescing (2).ipynb'",
    )
    assert prepared.flags == ()
    assert answers(cells_of(prepared)) == answers(PERFECT["short"].cells)


def test_an_untouched_notebook_beside_another_one_is_flagged():
    prepared = looked_over(OTHER_BYTES, **{"coalescing (1).ipynb": PERFECT_BYTES})
    assert [question for question, _ in prepared.flags] == [""]
    assert "'coalescing (1).ipynb'" in prepared.flags[0][1]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes in folders")
def test_links_pipes_and_folders_are_named_and_never_opened(tmp_path):
    place = submit(tmp_path, "coalescing", {"coalescing.ipynb": PERFECT_BYTES, "numpy.py": b"1/0", ".DS_Store": b""})
    (tmp_path / "secret.txt").write_text("kept to myself")
    (place / "link.txt").symlink_to(tmp_path / "secret.txt")
    (place / "data").mkdir()
    (place / ".ipynb_checkpoints").mkdir()
    os.mkfifo(place / "pipe")
    prepared = look_over(place, "coalescing", MASTER["short"], RELEASED["short"])
    assert prepared.repairs == (
        "left out: 'data' (a folder), 'link.txt' (a symbolic link), 'numpy.py', 'pipe' (a pipe)",
    )
    assert b"kept to myself" not in prepared.notebook


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes in folders")
@pytest.mark.parametrize("kind", ["a symbolic link", "a folder", "a pipe"])
def test_a_notebook_that_is_no_file_is_a_problem(kind, tmp_path):
    place = submit(tmp_path, "coalescing", {})
    notebook = place / "coalescing.ipynb"
    if kind == "a symbolic link":
        notebook.symlink_to(COURSE.notebook("coalescing"))
    elif kind == "a folder":
        notebook.mkdir()
    else:
        os.mkfifo(notebook)
    prepared = look_over(place, "coalescing", MASTER["short"], RELEASED["short"])
    assert prepared.notebook is None
    assert (
        prepared.problem
        == f"expected a file coalescing.ipynb, 'coalescing.ipynb' is {kind}; ask for the notebook itself"
    )


@pytest.mark.parametrize("linked", ["ada", "ada/coalescing"])
def test_a_linked_folder_is_a_problem(linked, tmp_path):
    place = submit(tmp_path / "elsewhere", "coalescing", {"coalescing.ipynb": PERFECT_BYTES})
    link = tmp_path / linked
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(place.parent if linked == "ada" else place)
    prepared = look_over(tmp_path / "ada" / "coalescing", "coalescing", MASTER["short"], RELEASED["short"])
    assert "is a symbolic link" in prepared.problem


def test_a_missing_folder_is_a_problem(tmp_path):
    prepared = look_over(tmp_path / "coalescing", "coalescing", MASTER["short"], RELEASED["short"])
    assert "'coalescing' cannot be read" in prepared.problem


@pytest.mark.parametrize(
    "text", [TIME, "2026-03-01T12:00:00", "2026-03-01 12:00:00 CET", f"\n{TIME}\n", f"\ufeff{TIME}"]
)
def test_a_time_of_submission_is_handed_on(text):
    prepared = looked_over(OTHER_BYTES, **{"timestamp.txt": text.encode()})
    assert prepared.repairs == ()
    assert prepared.timestamp == text.strip("\n\ufeff")


@pytest.mark.parametrize(
    "text", ["", "yesterday", "12", "2026", "2026-99-01 12:00", "\0", TIME * 100, "99999-2026 1:00"]
)
def test_a_bad_time_is_ignored_and_reported(text):
    prepared = looked_over(OTHER_BYTES, **{"timestamp.txt": text.encode()})
    assert prepared.timestamp == ""
    assert prepared.repairs[0].startswith("timestamp.txt was ignored")
    assert prepared.notebook is not None
