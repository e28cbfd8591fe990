"""The course on other Pythons and on Colab's old widgets: the fast tests and the notebooks run there too."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from filelock import FileLock

pytestmark = pytest.mark.slow

# What one chapter's exercises say is arithmetic, the same on every Python; how answers are judged is here. All
# exercises and explorers run on each Python in the released notebooks.
LANGUAGE = ("tests/models/test_*.py", *(f"tests/checks/test_{name}.py" for name in ("values", "question", "sectors")))
KERNELS = (
    "tests/profiling/test_profile.py",
    "tests/test_cuda.py",
    "tests/simulator/source/test_frontend.py",
    "tests/simulator/source/test_running.py",
    "tests/simulator/source/test_values.py",
)
PIXELS = "test_pictures.py"
"""Compares pixels, which only the pinned versions draw alike."""
PICTURES = ("tests/figures/test_*.py", "tests/explorers/test_*.py")
RUNNER = ["pytest", "hypothesis", "pytest-timeout", "pytest-xdist", "nbclient", "nbformat", "ipykernel", "hatchling"]
# What Colab had in August 2026 (without a GPU it has no numba-cuda, and numba's own CUDA target does the typing).
COLAB = ["ipywidgets==7.7.1", "numpy==2.1.3", "matplotlib==3.10.0", "numba==0.61.2"]
# What a Mac gets: NVIDIA makes no packages for it, so numba-cuda cannot be installed there.
MAC = ["numba==0.63.1", "numpy==2.3.5"]
SAMPLES = {"3.10": [], "3.12": MAC, "3.13": COLAB}
TESTS = {"3.10": LANGUAGE + KERNELS, "3.12": KERNELS, "3.13": KERNELS + PICTURES}
"""What can differ there: the oldest Python, another numba, and older packages for pictures and sliders too."""
WITHOUT_NUMBA_CUDA = {"3.12", "3.13"}


def interpreter(version: str) -> str | None:
    """A Python of this version on PATH or kept by pyenv."""
    found = shutil.which(f"python{version}")
    if found and subprocess.run([found, "-c", ""], capture_output=True).returncode == 0:
        return found
    kept = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    return next((str(p) for p in sorted(kept.glob(f"{version}.*/bin/python"))), None)


@pytest.fixture(scope="module", params=SAMPLES)
def version(request):
    return request.param


@pytest.fixture(scope="module")
def environment(version, root):
    """A virtual environment of another Python with this course installed in it.

    Its other packages are kept in build/ for the next run, as long as the same ones are asked for.
    """
    python = interpreter(version)
    if python is None:
        pytest.skip(f"Python {version} is not installed here")
    asked = [(root / "pyproject.toml").read_text(encoding="utf-8"), python, *RUNNER, *SAMPLES[version]]
    folder = root / "build" / "environments" / f"{version}-{hashlib.sha256(repr(asked).encode()).hexdigest()[:16]}"
    folder.parent.mkdir(parents=True, exist_ok=True)
    own, complete = folder / "bin" / "python", folder / "complete"
    with FileLock(f"{folder}.lock"):
        if not complete.exists():
            subprocess.run([python, "-m", "venv", "--clear", folder], check=True)
            install(own, str(root), *RUNNER, *SAMPLES[version])
            if version in WITHOUT_NUMBA_CUDA:
                subprocess.run([own, "-m", "pip", "uninstall", "--quiet", "--yes", "numba-cuda"], check=True)
            complete.touch()
        else:
            install(own, "--no-deps", "--no-build-isolation", "--force-reinstall", str(root))
        yield own


def install(own, *what):
    # Not compiled: a third of the time, and most of it is never imported.
    options = ["--quiet", "--no-compile", "--disable-pip-version-check"]
    subprocess.run([own, "-m", "pip", "install", *options, *what], check=True)


def run_there(own, root, folder, *command):
    # From another folder and without PYTHONPATH: what is imported is what was installed.
    done = subprocess.run(
        [own, *command], cwd=folder, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": ""}
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout


@pytest.mark.timeout(1800)
def test_the_fast_tests_pass_there(environment, version, root, tmp_path):
    files = [str(path) for pattern in TESTS[version] for path in sorted(root.glob(pattern)) if path.name != PIXELS]
    assert len(files) >= 4
    options = [
        "-q",
        "-n",
        "2",
        "-m",
        "not slow",
        "-p",
        "no:cacheprovider",
        "-c",
        str(root / "pyproject.toml"),
        "--import-mode=importlib",
    ]
    out = run_there(environment, root, tmp_path, "-m", "pytest", *options, *files)
    assert " passed" in out and "failed" not in out


@pytest.mark.timeout(600)
def test_the_released_notebooks_run_there_without_warnings(environment, root, tmp_path):
    code = f"""
import nbformat
from concurrent.futures import ThreadPoolExecutor
from nbclient import NotebookClient
from pathlib import Path
here = dict(metadata=dict(path={str(tmp_path)!r}))
def run(path):
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=120, kernel_name="python3", resources=here).execute()
    noise = [o for c in notebook.cells for o in c.get("outputs", []) if o.get("name") == "stderr"]
    assert not noise, (path, noise)
    return path.stem
with ThreadPoolExecutor(2) as two:
    print(*sorted(two.map(run, Path({str(root / "release")!r}).glob("*/*.ipynb"))))
"""
    ran = run_there(environment, root, tmp_path, "-c", code).split()
    assert ran == sorted(path.stem for path in root.glob("release/*/*.ipynb"))
