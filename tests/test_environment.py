"""The start page's look at the computer: it finds what is there, and never fails."""

from __future__ import annotations

import sys
import types
from importlib import metadata

import pytest

from course import environment


def found(report, what):
    (finding,) = [f for f in report.findings if f.what.startswith(what)]
    return finding


def test_here_the_whole_course_works():
    report = environment.describe()
    assert report.works
    assert found(report, "numpy").found == metadata.version("numpy")
    for text in (str(report), report._repr_html_()):
        assert "The whole course works here." in text


def test_a_missing_package_is_named_with_what_to_do(monkeypatch):
    real = metadata.version

    def version(name):
        if name == "ipywidgets":
            raise metadata.PackageNotFoundError(name)
        return real(name)

    monkeypatch.setattr(metadata, "version", version)
    report = environment.describe()
    assert not report.works
    assert found(report, "ipywidgets").advice == "Run: pip install ipywidgets"
    assert "Look at: ipywidgets" in report.verdict


def test_an_old_python_is_named_with_what_to_do(monkeypatch):
    monkeypatch.setattr(sys, "version_info", (3, 8, 0))
    assert found(environment.describe(), "Python").advice == "Install Python 3.10 or newer."


@pytest.mark.parametrize("error", [RuntimeError("driver too old\nmore"), OSError(), ImportError("no libcuda")])
def test_a_broken_driver_is_a_reason_and_not_an_error(monkeypatch, error):
    def is_available():
        raise error

    fake = types.SimpleNamespace(cuda=types.SimpleNamespace(is_available=is_available))
    monkeypatch.setitem(sys.modules, "numba", fake)
    finding = found(environment.describe(), "GPU")
    assert finding.works and type(error).__name__ in finding.found and "\n" not in finding.found


def test_a_gpu_is_named_with_its_compute_capability(monkeypatch):
    device = types.SimpleNamespace(name=b"NVIDIA H200", compute_capability=(9, 0))
    cuda = types.SimpleNamespace(is_available=lambda: True, get_current_device=lambda: device)
    monkeypatch.setitem(sys.modules, "numba", types.SimpleNamespace(cuda=cuda))
    assert found(environment.describe(), "GPU").found == "NVIDIA H200, compute capability 9.0"
