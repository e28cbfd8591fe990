"""Many jobs in other processes: every job ends once, with its result or a reason, whatever dies."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from autograder.pool import Lost, cores, here, kept, on_cluster, results
from autograder.settings import ROOT, CourseError
from tests.autograder.loopback_cluster import loopback_cluster
from tests.autograder.pool_jobs import (
    GOES_ON,
    die_at_seven,
    die_once,
    double,
    met_double,
    process_of,
    think,
    workers_at_work,
)
from tests.support.sandbox_runs import eventually


@pytest.fixture(scope="module", autouse=True)
def _workers_find_this_module():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]))
        yield


def test_every_job_ends_once_and_an_error_is_its_own():
    found = dict(results(here(ROOT, 2), double, range(20), waiting=5))
    assert sorted(found) == list(range(20))
    error = found.pop(13)
    assert isinstance(error, ValueError)
    assert "not liked" in str(error)
    assert found == {n: 2 * n for n in range(20) if n != 13}


def test_no_more_jobs_are_taken_than_may_wait():
    taken, ended, most = 0, 0, 0

    def jobs():
        nonlocal taken, most
        for number in range(30):
            taken += 1
            most = max(most, taken - ended)
            yield number

    for _ in results(here(ROOT, 2), double, jobs(), waiting=4):
        ended += 1
    assert ended == 30
    assert most <= 4


def test_a_job_that_kills_its_process_takes_nobody_with_it():
    found = dict(results(here(ROOT, 2), die_at_seven, range(12), waiting=6))
    assert sorted(found) == list(range(12))
    assert isinstance(found.pop(7), Lost)
    assert found == {n: n for n in range(12) if n != 7}


def test_a_job_that_would_take_years_is_ended_and_the_others_are_not():
    found = dict(results(here(ROOT, 2), think, range(5, 10), waiting=6))
    assert isinstance(found.pop(7), Lost)
    assert found == {n: n for n in (5, 6, 8, 9)}


def test_a_process_that_dies_by_bad_luck_costs_nobody_a_result(tmp_path):
    items = [(str(tmp_path), n) for n in range(5)]
    assert dict(results(here(ROOT, 2), die_once, items, waiting=5)) == {item: item[1] for item in items}


def test_processes_that_are_kept_work_on_until_one_dies():
    with kept(here(ROOT, 1)) as one:
        first, again = (dict(results(one, process_of, [1, 2], waiting=2)) for _ in range(2))
        assert first == again
        assert isinstance(dict(results(one, process_of, [7], waiting=1))[7], Lost)
        last = dict(results(one, process_of, [1, 2], waiting=2))
    assert last[1] == last[2] != first[1]


def test_a_worker_builds_no_grammar_that_no_notebook_needs():
    wanted = {"nbformat", "rfc3987_syntax.syntax_helpers"}
    program = f"import sys, autograder.middle; print(*{wanted} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["nbformat"]


def test_there_is_at_least_one_processor():
    assert 1 <= cores() <= (os.cpu_count() or 1)


def test_a_cluster_that_does_not_answer_is_named(monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr("autograder.pool.CONNECT_SECONDS", 1)
    with pytest.raises(CourseError, match=r"no Dask scheduler answers at 'tcp://127\.0\.0\.1:1'"):
        list(results(on_cluster("tcp://127.0.0.1:1"), double, [1], waiting=1))


@pytest.fixture
def cluster(tmp_path_factory):
    """(address, worker processes) of a real Dask scheduler with two workers on loopback."""
    with loopback_cluster(tmp_path_factory.mktemp("cluster"), [ROOT]) as started:
        yield started


@pytest.mark.slow
def test_a_worker_of_a_cluster_that_is_killed_costs_nobody_a_result(cluster, tmp_path):
    address, workers = cluster
    items = [(str(tmp_path), n) for n in range(24)]
    found: dict[tuple[str, int], object] = {}
    for item, result in results(on_cluster(address), met_double, items, waiting=24):
        assert item not in found
        found[item] = result
        if len(found) == 4:
            # It must be at work, or it would take nothing with it when it dies.
            assert eventually(lambda: max(workers_at_work(tmp_path).get(workers[0].pid, {0})) >= 4)
            workers[0].send_signal(signal.SIGKILL)
            (tmp_path / GOES_ON).touch()
    assert found == {item: 2 * item[1] for item in items}
    assert workers[0].wait() == -signal.SIGKILL
    assert len(list(tmp_path.glob("*-*-*"))) > len(items), "the job that was lost ran again"
