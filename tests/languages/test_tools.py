"""Where the tools are looked for, and the sentence where they are not."""

from __future__ import annotations

import stat
import sys
from types import SimpleNamespace

import pytest

from course.languages import tools
from course.languages.tools import NoCompilerError


@pytest.fixture
def nothing(monkeypatch):
    """Neither wheels nor a toolkit on the PATH."""
    for remembered in (tools._tool, tools._found):
        remembered.cache_clear()
    monkeypatch.setattr(tools.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setenv("PATH", "")
    yield monkeypatch
    for remembered in (tools._tool, tools._found):
        remembered.cache_clear()


def program(path, text="pass"):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!{sys.executable}\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def test_what_is_missing_is_said(nothing):
    with pytest.raises(NoCompilerError, match=r"^NVIDIA's compiler is not installed$"):
        tools.assembler()
    with pytest.raises(NoCompilerError, match=r"^NVIDIA's disassembler, nvdisasm, is not installed$"):
        tools.disassembler()


def test_an_assembler_without_its_libraries_is_not_complete(nothing, tmp_path):
    def load(library):
        raise OSError(library)

    program(tmp_path / "ptxas")
    nothing.setenv("PATH", str(tmp_path))
    nothing.setattr(tools.importlib, "import_module", lambda name: SimpleNamespace(load_nvidia_dynamic_lib=load))
    with pytest.raises(NoCompilerError, match=r"^NVIDIA's compiler is not complete$"):
        tools.assembler()


@pytest.mark.skipif(sys.platform == "win32", reason="the test's tools are scripts")
def test_a_toolkit_on_the_path_will_do_and_wheels_go_first(nothing, tmp_path):
    on_path = program(tmp_path / "toolkit" / "nvdisasm")
    nothing.setenv("PATH", str(on_path.parent))
    assert tools.disassembler() == str(on_path)
    wheel = program(tmp_path / "nvidia" / "cu13" / "bin" / "nvdisasm")
    spec = SimpleNamespace(submodule_search_locations=[str(tmp_path / "nvidia")])
    nothing.setattr(tools.importlib.util, "find_spec", lambda name: spec)
    tools._tool.cache_clear()
    assert tools.disassembler() == str(wheel)


@pytest.mark.skipif(sys.platform == "win32", reason="the test's tools are scripts")
def test_a_tool_says_its_version(tmp_path):
    assert tools.version(str(program(tmp_path / "a", "print('release 13.0, V13.0.88')"))) == "13.0.88"
    assert tools.version(str(program(tmp_path / "b", "print('?')"))) == "of an unknown version"


def test_an_error_is_told_in_one_line():
    assert tools.first_line(ValueError("\n  too old  \nmore")) == "too old"
    assert tools.first_line(ValueError()) == "ValueError"
    assert len(tools.first_line(ValueError("x" * 999))) == 160
