"""How long the report of a large class takes, beside nbgrader's own export of the same marks in the same run.

The peer reads a smaller class, and its time is scaled up: it asks the database anew for every student and chapter.
It writes one line for each submission; the report writes all points, statistics, pictures, pages and ten files.
"""

from __future__ import annotations

import resource
import time

import pytest
from nbgrader.api import Gradebook
from nbgrader.plugins import CsvExportPlugin

from autograder.report import build_report
from tests.support.report_class import CHAPTERS, write_class

STUDENTS, SAMPLE = 5_000, 100
TARGET = 5.0
"""Seconds, on a machine that does nothing else."""


@pytest.mark.slow
def test_five_thousand_students_in_six_chapters(benchmark, tmp_path, capsys):
    course = write_class(tmp_path / "large", [f"s{n:05d}" for n in range(STUDENTS)])
    sample = write_class(tmp_path / "small", [f"s{n:05d}" for n in range(SAMPLE)], records=False)
    benchmark.pedantic(build_report, (course,), rounds=3, warmup_rounds=1)
    ours = benchmark.stats.stats.min
    with Gradebook(sample.gradebook_url) as gradebook:
        start = time.perf_counter()
        CsvExportPlugin(to=str(tmp_path / "grades.csv")).export(gradebook)
        peer = (time.perf_counter() - start) * STUDENTS / SAMPLE
    assert len((tmp_path / "grades.csv").read_text().splitlines()) == 1 + SAMPLE * len(CHAPTERS)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    benchmark.extra_info["ratio"] = peer / ours
    with capsys.disabled():
        print(
            f"\nreport of {STUDENTS} students in {len(CHAPTERS)} chapters: {ours:.1f} s (target {TARGET:g} s), at most "
            f"{memory:.0f} MiB; nbgrader's export of the totals alone {peer:.0f} s, {peer / ours:.0f} times as long"
        )
    assert peer > 5 * ours
