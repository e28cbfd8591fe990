"""What works here: Python, the packages the notebooks use, and a GPU or none."""

from __future__ import annotations

import platform
import sys
from dataclasses import dataclass
from importlib import metadata

from course.tables import as_html, as_text

__all__ = ["Finding", "Report", "describe"]

_HEAD = ("", "what", "found", "what to do")
_LEAST_PYTHON = (3, 10)
_PACKAGES = (
    ("numpy", "every number"),
    ("matplotlib", "plots with axes"),
    ("ipywidgets", "sliders and buttons"),
    ("numba", "GPU kernels written in Python"),
)


@dataclass(frozen=True)
class Finding:
    """One thing that was looked for."""

    what: str
    found: str
    works: bool
    advice: str = ""


@dataclass(frozen=True)
class Report:
    """Everything that was looked for; shows itself as a table."""

    findings: tuple[Finding, ...]

    @property
    def works(self) -> bool:
        """Whether the whole course runs here."""
        return all(finding.works for finding in self.findings)

    @property
    def verdict(self) -> str:
        """One sentence for the reader."""
        if self.works:
            return "The whole course works here."
        broken = ", ".join(finding.what for finding in self.findings if not finding.works)
        return f"Not everything works here yet. Look at: {broken}."

    @property
    def _cells(self) -> list[list[str]]:
        return [["works" if f.works else "DOES NOT WORK", f.what, f.found, f.advice] for f in self.findings]

    def __str__(self) -> str:
        return f"{as_text(_HEAD, self._cells, right=False)}\n{self.verdict}"

    def _repr_html_(self) -> str:
        return as_html(_HEAD, self._cells, self.verdict, name="This computer", right=False)


def describe() -> Report:
    """Look at this computer; changes nothing and never raises."""
    return Report((_python(), *(_package(name, use) for name, use in _PACKAGES), _gpu()))


def _python() -> Finding:
    works = sys.version_info[:2] >= _LEAST_PYTHON
    least = ".".join(map(str, _LEAST_PYTHON))
    return Finding(
        "Python",
        f"{platform.python_version()} on {platform.system()}",
        works,
        "" if works else f"Install Python {least} or newer.",
    )


def _package(name: str, use: str) -> Finding:
    try:
        return Finding(f"{name} ({use})", metadata.version(name), True)
    except metadata.PackageNotFoundError:
        return Finding(f"{name} ({use})", "not installed", False, f"Run: pip install {name}")


def _gpu() -> Finding:
    """A GPU is welcome and never needed, so whatever goes wrong here is told as a reason, not as an error."""
    try:
        from numba import cuda

        if cuda.is_available():
            device = cuda.get_current_device()
            name = device.name.decode() if isinstance(device.name, bytes) else str(device.name)
            major, minor = device.compute_capability
            return Finding("GPU", f"{name}, compute capability {major}.{minor}", True)
        reason = "none found"
    except Exception as error:  # a broken driver fails in many ways
        reason = (
            f"none usable ({type(error).__name__}: {str(error).splitlines()[0] if str(error) else 'no reason given'})"
        )
    return Finding("GPU", reason, True, "You need none: this course counts what a GPU does.")
