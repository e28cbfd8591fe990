"""Where everything lies, and how nbgrader is set for it: one place for our commands and for stock ones."""

from __future__ import annotations

import os
import re
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

from traitlets.config import Config

__all__ = ["ROOT", "Course", "CourseError", "nbgrader_settings", "notebook_name_pattern", "prepare_environment"]

ROOT = Path(__file__).resolve().parent.parent
"""The repository that this package belongs to."""

CELL_SECONDS = 60
"""Time that one cell may take while grading. nbgrader has no limit for a whole notebook."""

GRADEBOOK_URL = "GRADEBOOK_URL"
"""Environment variable that names another database, such as postgresql://grader@db.example.edu/marks."""

TEXT_TWINS = ("*.py", "*.md", "*.Rmd", "*.qmd", "*.pyc", "*.so", "*.pyd")
"""Files that nbgrader never copies. In source/ they are text twins of a notebook, solutions included;
in a submission they are modules that would shadow real ones (a student's numpy.py)."""


class CourseError(Exception):
    """Something that the instructor has to change. The message says what was expected, what is there, what to do."""


@dataclass(frozen=True)
class Course:
    """The folders of one course: notebooks in source/ and release/, students' work under `area`."""

    root: Path
    area: str = "autograder"
    """Folder of submitted/, autograded/, feedback/ and gradebook.db, relative to `root`, written with '/'."""
    release_folder: str = "release"
    """Folder of the students' notebooks, relative to `root`, written with '/'."""

    @property
    def source(self) -> Path:
        """Master notebooks: source/<chapter>/<chapter>.ipynb."""
        return self.root / "source"

    @property
    def release(self) -> Path:
        """Students' notebooks, generated from `source`."""
        return self.root / self.release_folder

    @property
    def submitted(self) -> Path:
        """What students handed in: submitted/<student>/<chapter>/<chapter>.ipynb."""
        return self.root / self.area / "submitted"

    @property
    def autograded(self) -> Path:
        """The same, executed and graded. Holds hidden tests: not for students."""
        return self.root / self.area / "autograded"

    @property
    def feedback(self) -> Path:
        """HTML for students."""
        return self.root / self.area / "feedback"

    @property
    def gradebook(self) -> Path:
        """nbgrader's database of all marks, where it is a file (SQLite)."""
        return self.root / self.area / "gradebook.db"

    @property
    def gradebook_url(self) -> str:
        """The gradebook for SQLAlchemy: what the environment variable GRADEBOOK_URL says, or else the file.

        SQLite waits a minute for another process that holds its lock.
        """
        return os.environ.get(GRADEBOOK_URL) or f"sqlite:///{self.gradebook.as_posix()}?timeout=60"

    @property
    def has_gradebook(self) -> bool:
        """Whether there are marks to read."""
        return GRADEBOOK_URL in os.environ or self.gradebook.exists()

    @property
    def backups(self) -> Path:
        """Copies of the gradebook, one from before each grading run."""
        return self.root / self.area / "backups"

    @property
    def records(self) -> Path:
        """What is known of each submission besides its marks."""
        return self.root / self.area / "records"

    def record(self, student: str, chapter: str) -> Path:
        """The record of one submission."""
        return self.records / student / f"{chapter}.json"

    @property
    def grade_ids(self) -> Path:
        """The committed manifest: which cells are graded, for how many points."""
        return self.root / "autograder" / "grade_ids.json"

    @property
    def scratch(self) -> Path:
        """Where a release is built before it replaces the old one: the same disk, not in git."""
        return self.root / "build" / "release"

    def notebook(self, chapter: str) -> Path:
        """The master notebook of a chapter."""
        return self.source / chapter / f"{chapter}.ipynb"

    def chapters(self) -> list[str]:
        """Names of the folders of source/ that hold a notebook of their name, sorted."""
        folders = self.source.iterdir() if self.source.is_dir() else ()
        return sorted(path.name for path in folders if self.notebook(path.name).is_file())


def prepare_environment(root: Path) -> None:
    """Make sure that this process, and the kernels it starts, find this Python's tools and this course.

    A hidden test imports `autograder`.
    """
    _come_first("PATH", _folders_of_tools())
    _come_first("PYTHONPATH", [str(root)])
    # Python 3.11's debugger warns on stderr about frozen modules, once per kernel.
    os.environ.setdefault("PYDEVD_DISABLE_FILE_VALIDATION", "1")


def _come_first(variable: str, own: list[str]) -> None:
    """Folders before all others in an environment variable of this process and its children."""
    entries = [entry for entry in os.environ.get(variable, "").split(os.pathsep) if entry and entry not in own]
    os.environ[variable] = os.pathsep.join([*own, *entries])


def _folders_of_tools() -> list[str]:
    """Where this Python's commands lie: beside it, or (conda on Windows, a user's own installs) where pip puts them."""
    return list(dict.fromkeys([str(Path(sys.executable).parent), sysconfig.get_path("scripts")]))


def nbgrader_settings(course: Course) -> Config:
    """nbgrader's configuration for `course`, for its commands, its converters and formgrader alike.

    nbgrader runs `alembic` from PATH when it creates a gradebook, however it was started itself: without an activated
    environment too. So whoever asks for the configuration gets this Python's tools on its PATH.
    """
    _come_first("PATH", _folders_of_tools())
    c = Config()
    c.CourseDirectory.root = str(course.root)
    c.CourseDirectory.source_directory = "source"
    c.CourseDirectory.release_directory = course.release_folder
    c.CourseDirectory.submitted_directory = f"{course.area}/submitted"
    c.CourseDirectory.autograded_directory = f"{course.area}/autograded"
    c.CourseDirectory.feedback_directory = f"{course.area}/feedback"
    c.CourseDirectory.db_url = course.gradebook_url
    # The course that nbgrader's preprocessors name. Its commands name none; PostgreSQL refuses a chapter of none.
    c.CourseDirectory.course_id = "default_course"
    c.CourseDirectory.ignore = [".ipynb_checkpoints", "__pycache__", "feedback", *TEXT_TWINS]

    # nbgrader's own stub raises NotImplementedError. An empty one leaves what stands above the solution
    # block, such as `q1 = dict(sectors=None, lines=None)`, so that a release runs before anything is answered.
    c.ClearSolutions.code_stub = {"python": ""}
    c.ClearSolutions.text_stub = "*Write your answer here.*"

    c.Execute.timeout = CELL_SECONDS
    c.Execute.startup_timeout = 120
    c.Execute.iopub_timeout = 60
    # Other users of a shared grading machine could otherwise read what passes between nbgrader and the kernel.
    c.KernelManager.transport_encryption = "auto"
    c.OverwriteCells.add_missing_cells = True
    c.GenerateFeedback.preprocessors = [
        "nbgrader.preprocessors.GetGrades",
        "autograder.feedback.HideTests",
        "autograder.feedback.ReadableColours",
        "nbconvert.preprocessors.CSSHTMLHeaderPreprocessor",
    ]

    # nbgrader's own lists, with our run (in a sandbox) and each student's own numbers.
    c.Autograde.sanitize_preprocessors = [
        "nbgrader.preprocessors.ClearOutput",
        "nbgrader.preprocessors.DeduplicateIds",
        "nbgrader.preprocessors.OverwriteKernelspec",
        "nbgrader.preprocessors.OverwriteCells",
        "autograder.own_numbers.OwnNumbers",
        "nbgrader.preprocessors.CheckCellMetadata",
    ]
    c.Autograde.autograde_preprocessors = [
        "autograder.sandbox.execute.Execute",
        "nbgrader.preprocessors.IgnorePattern",
        "nbconvert.preprocessors.ClearMetadataPreprocessor",
        "nbgrader.preprocessors.LimitOutput",
        "nbgrader.preprocessors.SaveAutoGrades",
        "nbgrader.preprocessors.AssignLatePenalties",
        "nbgrader.preprocessors.CheckCellMetadata",
    ]
    c.OwnNumbers.root = str(course.root)
    c.OwnNumbers.area = course.area
    # What a late hand-in loses: see "Late work" in autograder/README.md. 0 is nothing.
    c.AssignLatePenalties.plugin_class = "autograder.late.PerDay"
    c.PerDay.percent_per_day = 0.0
    c.PerDay.most_percent = 100.0
    c.PerDay.grace_minutes = 0.0

    c.ZipCollectApp.downloaded_directory = f"{course.area}/downloaded"
    c.FileNameCollectorPlugin.named_regexp = collected_file_pattern(course.chapters())
    return c


def notebook_name_pattern(chapters: list[str]) -> str:
    """Regular expression of a handed-in notebook's name; group file_id is the chapter.

    Browsers rename a second download to "coalescing (1).ipynb", Colab a copy to "Copy of coalescing.ipynb",
    JupyterLab to "coalescing-Copy1.ipynb", Canvas a second hand-in to "coalescing-1.ipynb".
    """
    names = "|".join(re.escape(name) for name in sorted(chapters, key=len, reverse=True))
    return rf"(?:Copy of )*(?P<file_id>{names})(?:-Copy\d+|-\d+| ?\(\d+\))*\.ipynb$"


def collected_file_pattern(chapters: list[str]) -> str:
    """Regular expression that finds student and chapter in the path of a file that `nbgrader zip_collect` unpacked.

    The student is the outermost folder (or zip file) around the notebook, or what stands before the notebook's
    name: ada/coalescing.ipynb, ada.zip, ada_coalescing.ipynb. Moodle ("Ada Berg_17_assignsubmission_file_/") and
    Canvas ("bergada_LATE_17_99_coalescing.ipynb") are recognised at any depth, without what they add to the name.
    """
    lms = r"(?:_assignsubmission_file|(?:_LATE)?_\d+_\d+(?=_))"
    return (
        r"(?!.*__MACOSX).*[/\\]extracted[/\\]"
        rf"(?:(?:[^/\\]+[/\\])*(?=[^/\\]+{lms}))?"
        rf"(?P<student_id>[^/\\]+?)(?:{lms}_?)?(?:(?<=_)|_|[/\\](?:.*[/\\])?)" + notebook_name_pattern(chapters)
    )
