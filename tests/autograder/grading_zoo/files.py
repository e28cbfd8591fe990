"""Broken files: what editors, browsers, git and people with ideas put where a notebook belongs.

One of each kind: the tests of preflight have the others.
"""

from __future__ import annotations

import json
import os

from tests.autograder.grading_zoo import CHAPTER, TASKS, Animal, Habitat, Make, beside, book, edited, raw

NAME = f"{CHAPTER}.ipynb"


def conflict(text: str, theirs: str) -> bytes:
    """A file that git could not merge: `theirs` stands where q8's answer was 4."""
    lines = text.split("\n")
    place = next(n for n, line in enumerate(lines) if "warp_stride=4)" in line)
    other = lines[place].replace("warp_stride=4)", theirs)
    lines[place : place + 1] = ["<<<<<<< HEAD", lines[place], "=======", other, ">>>>>>> theirs"]
    return "\n".join(lines).encode()


def older(document: dict) -> dict:
    """Format 3: sheets, and `input` instead of `source`."""
    cells = [
        {
            **{k: v for k, v in cell.items() if k not in ("source", "id", "execution_count")},
            ("input" if cell["cell_type"] == "code" else "source"): cell["source"],
        }
        for cell in document["cells"]
    ]
    return {
        "metadata": {"name": ""},
        "nbformat": 3,
        "nbformat_minor": 0,
        "worksheets": [{"cells": cells, "metadata": {}}],
    }


def colab(document: dict) -> None:
    """What Google Colab writes: minor version 0, ids in the metadata, its own metadata, a fold of each cell."""
    document.update(
        nbformat_minor=0,
        metadata={
            "colab": {"provenance": [], "toc_visible": True},
            "kernelspec": {"name": "python3", "display_name": "Python 3"},
            "accelerator": "GPU",
        },
    )
    for cell in document["cells"]:
        cell["metadata"] = {**cell["metadata"], "id": cell.pop("id"), "outputId": "1", "cellView": "form"}


def many(document: dict) -> None:
    """2000 more cells."""
    document["cells"] += [
        {"cell_type": "code", "id": f"more-{n}", "metadata": {}, "source": "", "outputs": [], "execution_count": None}
        for n in range(2000)
    ]


def widgets(document: dict) -> None:
    """Widget state, and a view that nobody can show."""
    state = {"state": {"a" * 32: {"model_module": "evil", "model_name": "<script>", "state": {}}}, "version_major": 2}
    document["metadata"]["widgets"] = {"application/vnd.jupyter.widget-state+json": state}
    document["cells"][0]["outputs"] = [
        {
            "output_type": "display_data",
            "metadata": {},
            "data": {"application/vnd.jupyter.widget-view+json": {"model_id": "a" * 32}},
        }
    ]


def link(target: str) -> Make:
    """A link to something else instead of the notebook. `target` is filled in."""

    def make(habitat: Habitat) -> None:
        habitat.notebook.symlink_to(target.format(root=habitat.root, canary=habitat.canary))

    return make


def linked_folder(habitat: Habitat) -> None:
    """The folder itself is a link to another student's."""
    habitat.folder.rmdir()
    habitat.folder.symlink_to(habitat.root / "autograder" / "submitted" / "perfect" / CHAPTER)


def timestamp(text: str) -> Make:
    """A hand-in with this time."""
    return beside(book(*TASKS), lambda habitat: (habitat.folder / "timestamp.txt").write_text(text))


def extra(name: str, text: str) -> Make:
    """A hand-in with another file beside it."""
    return beside(book(*TASKS), lambda habitat: (habitat.folder / name).write_text(habitat.fill(text)))


def linked_files(habitat: Habitat) -> None:
    """Links beside the notebook: to the canary, to the masters, to everything."""
    for name, target in (("data.csv", habitat.canary), ("masters", habitat.root / "source"), ("all", "/")):
        (habitat.folder / name).symlink_to(target)


SHADOW = "open('/tmp/shadowed', 'w')\nfrom sys import modules\nfloat32 = int32 = 3\n"

FAILED = {
    "empty file": (raw(lambda text: b""), "the file is empty"),
    "no json": (raw(lambda text: text[: len(text) // 2].encode()), "breaks off"),
    "a list": (raw(lambda text: b"[1, 2]"), "found a JSON list"),
    "an html page": (raw(lambda text: b"<!doctype html><script>alert(1)</script>"), "damaged at line 1"),
    "nested without end": (raw(lambda text: b"[" * 200_000), "nested without end"),
    "two answers in a merge": (
        raw(lambda text: conflict(text, "warp_stride=8)"), *TASKS),
        "the two sides answer differently: q8-answer",
    ),
    "nothing": (lambda habitat: None, "found nothing"),
    "a zip file": (raw(lambda text: b"PK\3\4", name="small.zip"), "unpack the archive"),
    "notebook is a folder": (lambda habitat: habitat.notebook.mkdir(), "is a folder"),
    "notebook is a pipe": (lambda habitat: os.mkfifo(habitat.notebook), "is a pipe"),
    "link to the master": (link("{root}/source/small/small.ipynb"), "is a symbolic link"),
    "link to the canary": (link("{canary}"), "is a symbolic link"),
    "link to another student": (link("{root}/autograder/submitted/perfect/small/small.ipynb"), "is a symbolic link"),
    "link to zeros": (link("/dev/zero"), "is a symbolic link"),
    "far too large": (raw(lambda text: json.dumps({"cells": [], "x": "x" * (51 << 20)}).encode()), "larger than"),
    "far too many cells": (edited(lambda document: {**document, "cells": document["cells"] * 2_000}, *TASKS), "cells"),
    "another course": (
        raw(lambda text: b'{"cells": [{"cell_type": "code", "metadata": {}, "source": "1"}], "nbformat": 4}'),
        "expected the notebook of small",
    ),
}

READ = {
    "utf 16": (raw(lambda text: text.encode("utf-16"), *TASKS), "UTF-16"),
    "one answer in a merge": (raw(lambda text: conflict(text, "warp_stride=4)"), *TASKS), "git could not merge"),
    "renamed by a browser": (raw(str.encode, *TASKS, name="small (1).ipynb"), "was not called small.ipynb"),
    "bad time": (timestamp("yesterday, honest"), "timestamp.txt was ignored"),
    "module called numpy": (extra("numpy.py", SHADOW), "left out"),
    "links beside the notebook": (beside(book(*TASKS), linked_files), "a symbolic link"),
    "format 3": (edited(older, *TASKS), "read as format 4"),
}

FINE = {
    "colab": edited(colab, *TASKS),
    "two thousand cells": edited(many, *TASKS),
    "widget state": edited(widgets, *TASKS),
    "unknown kernel": edited(
        lambda d: d["metadata"].update(kernelspec={"name": "evil", "display_name": "x", "language": "python"}), *TASKS
    ),
    "time of submission": timestamp("2026-03-01 12:00:00 UTC"),
}

ANIMALS = (
    *(Animal(name, make, failed=why) for name, (make, why) in FAILED.items()),
    *(Animal(name, make, right=TASKS, repair=why) for name, (make, why) in READ.items()),
    *(Animal(name, make, right=TASKS) for name, make in FINE.items()),
)
LEFT_OUT = (Animal("link instead of the folder", linked_folder),)
"""Never graded, and said."""
