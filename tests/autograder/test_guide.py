"""Every command in the instructor's guide exists, with the options that the guide gives it."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from functools import cache

import pytest
from nbgrader.apps import dbapp
from nbgrader.apps.nbgraderapp import NbGraderApp

import autograder.__main__ as main_module
from autograder.settings import ROOT, Course, nbgrader_settings

GUIDE = (ROOT / "autograder" / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)
SHELL = [line.split("  #")[0].strip() for kind, block in BLOCKS if not kind for line in block.splitlines()]
INLINE = re.findall(r"`((?:make|nbgrader|python) [^`<>\n]+)`", GUIDE)
COMMANDS = sorted({*SHELL, *INLINE})
PYTHON = [block for kind, block in BLOCKS if kind == "python"]


def starting(*words: str) -> list[list[str]]:
    """The guide's commands that begin with these words, without them."""
    parted = [shlex.split(command) for command in COMMANDS]
    return [command[len(words) :] for command in parted if tuple(command[: len(words)]) == words]


def test_every_command_is_of_a_kind_that_is_tested_here():
    kinds = (
        "make ",
        "python -m autograder",
        "nbgrader ",
        "python -m pip install ",
        "python tools/",
        "dask ",
        "export ",
    )
    assert [c for c in COMMANDS if not c.startswith(kinds) and c != "python"] == []
    assert len(starting("nbgrader")) > 5
    assert len(starting("python", "-m", "autograder")) > 5


@pytest.mark.parametrize("arguments", starting("python", "-m", "autograder"), ids=" ".join)
def test_our_commands_take_these_arguments(arguments):
    if arguments not in ([], ["--help"]):
        assert main_module._parser().parse_args(arguments).command


@pytest.mark.parametrize("arguments", starting("make"), ids=" ".join)
def test_make_has_this_target(arguments):
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert all(re.search(rf"^{re.escape(target)}:", makefile, re.MULTILINE) for target in arguments)


@cache
def nbgrader_application(*names: str) -> type:
    """The class of an nbgrader command, such as ("db", "student", "import")."""
    found = NbGraderApp
    for name in names:
        found = dbapp.DbApp if found is NbGraderApp and name == "db" else found().subcommands[name][0]
    return found


@pytest.mark.parametrize("arguments", starting("nbgrader"), ids=" ".join)
def test_nbgrader_has_this_command_with_these_options(arguments):
    names = arguments[:3] if arguments[0] == "db" else arguments[:1]
    application = nbgrader_application(*names)()
    known = {f"--{name}" for name in (*application.aliases, *application.flags)}
    used = {argument.split("=")[0] for argument in arguments if argument.startswith("--")}
    assert used <= known


@pytest.mark.parametrize("arguments", starting("python"), ids=" ".join)
def test_python_finds_this_file_or_module(arguments):
    if arguments[0] == "-m":
        assert arguments[1] in ("autograder", "pip")
    else:
        assert (ROOT / arguments[0]).is_file()


@pytest.mark.slow
@pytest.mark.parametrize("arguments", starting("python", "tools/notebooks.py"), ids=" ".join)
def test_the_tool_takes_this_option(arguments):
    told = subprocess.run(
        [sys.executable, "tools/notebooks.py", "--help"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert all(argument in told.stdout for argument in arguments)


def test_the_settings_that_the_guide_names_exist():
    settings = nbgrader_settings(Course(ROOT))
    named = re.findall(r"^c\.PerDay\.(\w+) = ", "\n".join(PYTHON), re.MULTILINE)
    assert named
    assert set(named) <= set(settings.PerDay)


def test_every_link_inside_the_guide_has_its_heading():
    headings = {
        re.sub(r"[^\w -]", "", h.lower()).replace(" ", "-") for h in re.findall(r"^#+ (.+)$", GUIDE, re.MULTILINE)
    }
    targets = set(re.findall(r"\]\(#([^)]+)\)", GUIDE))
    assert targets
    assert targets <= headings


def test_files_that_the_guide_names_beside_itself_exist():
    for name in re.findall(r"`(\w+\.py|grade_ids\.json)`", GUIDE):
        assert (ROOT / "autograder" / name).is_file() or (ROOT / name).is_file(), name


def test_every_option_of_grade_stands_in_the_guide():
    told = main_module._parser().parse_args(["grade"])
    options = {f"--{name.replace('_', '-')}" for name in vars(told)} - {"--chapters", "--command"}
    assert {option for option in options if option not in GUIDE} == set()
