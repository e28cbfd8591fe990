"""nbgrader reads this file when it starts in this folder; what is set, and why, is in autograder/settings.py."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT))

from autograder.settings import Course, nbgrader_settings, prepare_environment  # noqa: E402

prepare_environment(ROOT)

c = get_config()  # noqa: F821  (nbgrader defines it)
c.merge(nbgrader_settings(Course(ROOT)))
# Stock `nbgrader autograde` in a fresh clone: there is a release, but no gradebook that knows it.
c.Autograde.pre_convert_hook = "autograder.release.register_before_autograde"
