"""What is kept on disk: whole entries or none, whoever writes at the same time."""

from __future__ import annotations

import os
import subprocess
import sys

from course.languages import cache

WRITER = """
import sys
from course.languages import cache
for turn in range(60):
    text = (sys.argv[1] + str(turn)) * 20000
    cache.put("shared", {"text": text, "same": text})
    found = cache.get("shared")
    assert found is not None and found["text"] == found["same"], "a torn entry"
"""


def test_what_is_put_is_found_again(kept):
    assert cache.get("a") is None
    cache.put("a", {"ptx": "é\n\n// two"})
    assert cache.get("a") == {"ptx": "é\n\n// two"}
    cache.put("a", {"ptx": ""})
    assert cache.get("a") == {"ptx": ""}
    assert [file.name for file in kept.iterdir()] == ["a.json"]


def test_an_entry_that_was_changed_or_cut_is_thrown_away(kept):
    for damage in (
        lambda data: data[:-3], lambda data: data.replace(b"whole", b"wrong"), lambda data: b"", lambda data: b"\xff\n",
    ):  # fmt: skip
        cache.put("a", {"text": "whole"})
        (kept / "a.json").write_bytes(damage((kept / "a.json").read_bytes()))
        assert cache.get("a") is None
        assert not (kept / "a.json").exists()


def test_two_processes_never_see_half_an_entry(kept):
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, name], env=os.environ, stderr=subprocess.PIPE, text=True)
        for name in "ab"
    ]
    assert [writer.communicate()[1] for writer in writers] == ["", ""]
    assert [writer.returncode for writer in writers] == [0, 0]
    assert [file.name for file in kept.iterdir()] == ["shared.json"]


def test_where_nothing_can_be_written_nothing_is_kept(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(cache.FOLDER, str(tmp_path / "file" / "below"))
    cache.put("a", {"text": "b"})
    assert cache.get("a") is None
    assert cache.clear() == 0


def test_the_oldest_go_when_there_are_too_many(kept, monkeypatch):
    monkeypatch.setattr(cache, "LIMIT", 3)
    for age, name in enumerate("abcde"):
        cache.put(name, {"text": name})
        os.utime(kept / f"{name}.json", (age, age))
    cache.put("f", {"text": "f"})
    assert sorted(file.stem for file in kept.iterdir()) == ["d", "e", "f"]


def test_clear_throws_everything_away_also_what_a_killed_process_left(kept):
    cache.put("a", {"text": "b"})
    (kept / "left.part").write_text("half")
    assert cache.clear() == 1
    assert list(kept.iterdir()) == []


def test_a_key_holds_every_part_and_the_versions(monkeypatch):
    assert cache.key("a", (9, 0)) == cache.key("a", (9, 0)) != cache.key("a", (8, 0))
    before = cache.key("a")
    monkeypatch.setattr(cache, "_versions", lambda: ("numba 99",))
    assert cache.key("a") != before


def test_without_a_word_the_folder_is_the_users(monkeypatch):
    monkeypatch.delenv(cache.FOLDER)
    assert cache.folder().parts[-2:] == ("gpu-memory-course", "compiled")
