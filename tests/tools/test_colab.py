"""A notebook that is the only file a student has."""

from __future__ import annotations

import os
import subprocess
import sys

import nbformat
import pytest

from tools.colab import CELL_ID, package, standalone


@pytest.fixture(scope="module")
def alone(root):
    released = nbformat.read(root / "release" / "coalescing" / "coalescing.ipynb", as_version=4)
    return standalone(released, package())


def run(code, folder, root, **environment):
    """Run code where the course is not installed, in a folder of its own."""
    (folder / "cells.py").write_text(
        f"import sys\nsys.path = [p for p in sys.path if p != {str(root)!r}]\n{code}", encoding="utf-8"
    )
    env = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | environment
    return subprocess.run([sys.executable, "cells.py"], cwd=folder, env=env, capture_output=True, text=True)


def test_the_package_comes_out_of_the_first_cell(alone, tmp_path, root):
    code = (
        alone.cells[0].source
        + """
import numpy as np
from course import check, cuda, profile, measured
from course.kernels.roofline import saxpy
print(course_file := __import__("course").__file__)
print(profile(saxpy, 4, 256, np.float32(2), np.ones(1000, np.float32), np.ones(1000, np.float32)).sectors)
print(check("coalescing/q8", dict(line_fraction=0.25, warp_stride=4)).points, measured.latency().cycles["l2"] > 0)
"""
    )
    done = run(code, tmp_path, root)
    assert done.returncode == 0, done.stderr
    assert "unpacked from this cell" in done.stdout
    assert done.stdout.splitlines()[-2:] == ["375", "2.0 True"]
    assert str(root) not in done.stdout


def test_a_package_beside_the_notebook_is_taken_first(alone, tmp_path, root):
    (tmp_path / "course").mkdir()
    (tmp_path / "course" / "__init__.py").write_text("mine = True\n")
    code = "sys.path = [p for p in sys.path if p not in ('', sys.argv[0].rpartition('/')[0])]\n" + alone.cells[0].source
    done = run(f"import os\nsys.path.remove(os.getcwd())\n{code}\nimport course; print(course.mine)", tmp_path, root)
    assert "beside this notebook" in done.stdout and "True" in done.stdout, done.stderr


def test_the_same_sources_give_the_same_file():
    assert package() == package()


def test_all_else_is_the_release(alone, root):
    released = nbformat.read(root / "release" / "coalescing" / "coalescing.ipynb", as_version=4)
    assert alone.cells[1:] == released.cells
    assert alone.cells[0].id == CELL_ID
    assert len(nbformat.writes(alone)) < 900_000
