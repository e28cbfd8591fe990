"""`make lab`: the student works on a copy, and JupyterLab answers, as root and without a browser too."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from tools.lab import copy_new


def test_chapters_are_copied_once_and_answers_are_never_overwritten(tmp_path):
    release, work = tmp_path / "release", tmp_path / "work"
    (release / "start").mkdir(parents=True)
    (release / "start" / "start.ipynb").write_text("first")
    assert copy_new(release, work) == [str(Path("start/start.ipynb"))]
    (work / "start" / "start.ipynb").write_text("my answers")
    (release / "start" / "start.ipynb").write_text("second")
    (release / "layout").mkdir()
    (release / "layout" / "layout.ipynb").write_text("new chapter")
    assert copy_new(release, work) == [str(Path("layout/layout.ipynb"))]
    assert (work / "start" / "start.ipynb").read_text() == "my answers"


def status_of(address, seconds=60):
    """HTTP status of a page whose server may just be starting to listen."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    deadline = time.monotonic() + seconds
    while True:
        try:
            with opener.open(address, timeout=seconds) as page:
                return page.status
        except urllib.error.URLError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.3)


@pytest.mark.slow
def test_without_a_browser_it_prints_an_address_that_answers(root, tmp_path):
    shutil.copytree(root / "release", tmp_path / "release")
    (tmp_path / "tools").mkdir()
    shutil.copy(root / "tools" / "lab.py", tmp_path / "tools")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = {**os.environ, "BROWSER": "", "PATH": str(Path(sys.executable).parent)}
    environment.pop("DISPLAY", None)
    lab = subprocess.Popen(
        [sys.executable, tmp_path / "tools" / "lab.py", f"--ServerApp.port={port}"],
        env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    try:
        said = ""
        for line in lab.stdout:
            said += line
            if found := re.search(r"http://127\.0\.0\.1:\d+/lab\S*token=\w+", line):
                break
        else:
            pytest.fail(said)
        assert "new: work/start/start.ipynb" in said and "There is no browser here" in said
        assert status_of(found.group()) == 200
    finally:
        lab.terminate()
        lab.wait(30)
