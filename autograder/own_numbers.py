"""nbgrader's step that makes a test cell ask for the student's own row, after the master's cells were put back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nbgrader.preprocessors import NbGraderPreprocessor
from traitlets import Unicode

from autograder.personal import with_rows
from autograder.settings import ROOT, Course
from autograder.variants import read_secret, rows_of

__all__ = ["OwnNumbers"]


class OwnNumbers(NbGraderPreprocessor):  # type: ignore[misc]  # nbgrader is untyped
    """Rewrites the calls of `check` and `grade`; without variants, or for a notebook without them, nothing changes."""

    root = Unicode(str(ROOT), help="Folder of the course.").tag(config=True)
    area = Unicode(Course.area, help="Folder of the secret, relative to the root.").tag(config=True)

    def preprocess(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        """What nbgrader calls for a submitted notebook. The id of the student decides, never what the notebook says."""
        submission = resources["nbgrader"]
        secret = read_secret(Course(Path(self.root), self.area))
        rows = rows_of(secret, submission["student"], submission["assignment"])
        for cell in nb.cells if rows else ():
            if cell.metadata.get("nbgrader", {}).get("grade") and cell.cell_type == "code":
                cell.source = with_rows(cell.source, rows)
        return nb, resources
