"""Make notebooks that work when they are the only file uploaded (Google Colab): build/colab/<chapter>.ipynb.

    make colab

Each is the release with one more cell on top: it looks for the package, then beside the notebook, and else unpacks
the copy that the cell itself carries. The same sources give the same files.
"""

from __future__ import annotations

import base64
import io
import sys
import zipfile
from pathlib import Path
from typing import Any

import nbformat

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / "build" / "colab"
CELL_ID = "only-this-file"

SETUP = """\
# This cell finds the course's package, or unpacks the copy of it in the last line. It installs nothing.
import base64, importlib.util, io, pathlib, sys, tempfile, zipfile

def find_course():
    if importlib.util.find_spec("course"):
        return "installed here"
    if pathlib.Path("course/__init__.py").exists():
        sys.path.insert(0, str(pathlib.Path.cwd()))
        return "beside this notebook"
    folder = tempfile.mkdtemp(prefix="course-")
    zipfile.ZipFile(io.BytesIO(base64.b85decode(PACKAGE))).extractall(folder)
    sys.path.insert(0, folder)
    return f"unpacked from this cell to {folder}"

PACKAGE = "%s"
print("The course's package:", find_course())"""


def package(root: Path = ROOT) -> str:
    """The package as a zip in base 85, the same for the same sources."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for path in sorted((root / "course").rglob("*")):
            if path.suffix in (".py", ".json"):
                entry = zipfile.ZipInfo(path.relative_to(root).as_posix(), (1980, 1, 1, 0, 0, 0))
                entry.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(entry, path.read_bytes())
    return base64.b85encode(packed.getvalue()).decode()


def standalone(notebook: Any, packed: str) -> Any:
    """The notebook with the cell that brings the package, before all others."""
    # base 85 has no quotes and no backslash, so it can stand between quotes.
    cell = nbformat.v4.new_code_cell(SETUP % packed, id=CELL_ID, metadata={"jupyter": {"source_hidden": True}})
    notebook.cells.insert(0, cell)
    return notebook


def main() -> int:
    """Write one notebook for every chapter of release/."""
    OUT.mkdir(parents=True, exist_ok=True)
    packed = package()
    for path in sorted((ROOT / "release").glob("*/*.ipynb")):
        into = OUT / path.name
        nbformat.write(standalone(nbformat.read(path, as_version=4), packed), into)
        print(f"{into.relative_to(ROOT)}: {into.stat().st_size / 1e3:.0f} kB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
