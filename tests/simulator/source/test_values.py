"""The simulator computes what NumPy, numba's own simulator and numba's types say."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from course.simulator.numba_types import type_kernel
from course.simulator.source import run
from course.simulator.source.programs import prepare
from tests.simulator.cases import CASES

UNORDERED = {("compaction", 2), ("atomic_ring", 1), ("atomic_claim", 2)}
"""Outputs whose order depends on which thread comes first."""


def arguments_of(name):
    return CASES[name].arguments(np.random.default_rng(sum(map(ord, name))))


def simulate(name, **options):
    case, arguments = CASES[name], arguments_of(name)
    info = run(case.kernel, case.grid, case.block, arguments, shared_bytes=case.shared, **options)
    return info, [arguments[place] for place in case.out]


def same(name, place, found, expected, tolerance):
    if (name, place) in UNORDERED:
        found, expected = np.sort(found), np.sort(expected)
    if found.dtype.names:
        for field in found.dtype.names:
            np.testing.assert_allclose(found[field], expected[field], rtol=tolerance)
    elif found.dtype.kind in "fc":
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)
    else:
        np.testing.assert_array_equal(found, expected)


@pytest.fixture(scope="session")
def reference(root, tmp_path_factory):
    """Outputs of numba's own simulator, from one subprocess."""
    file = tmp_path_factory.mktemp("reference") / "outputs.npz"
    done = subprocess.run(
        [sys.executable, "-m", "tests.simulator.reference", str(file)],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert not done.stderr.strip(), done.stderr
    return np.load(file)


def test_there_are_enough_cases_to_cover_the_language():
    assert len(CASES) >= 60


@pytest.mark.parametrize("name", [name for name in CASES if CASES[name].expected is not None])
def test_result_is_what_numpy_says(name):
    case = CASES[name]
    info, found = simulate(name)
    expected = case.expected(*arguments_of(name))
    for place, value, wanted in zip(case.out, found, expected if len(case.out) > 1 else (expected,), strict=True):
        same(name, place, value, np.asarray(wanted), case.tolerance)
    assert not [finding for finding in info.findings if finding.kind != "negative-index"]


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in CASES if CASES[name].numba_simulator])
def test_result_is_what_numbas_own_simulator_says(name, reference):
    case = CASES[name]
    for place, value in zip(case.out, simulate(name)[1], strict=True):
        same(name, place, value, reference[f"{name}/{place}"], case.tolerance)


@pytest.mark.parametrize("name", CASES)
def test_variables_have_the_types_that_numba_gives_them(name):
    case = CASES[name]
    program, _ = prepare(case.kernel, arguments_of(name))
    typemap = type_kernel(case.kernel.py_func, program.arguments)
    for (function, variable), kinds in program.variables.items():
        if function != program.source.name:
            continue
        numbas = {str(kind) for key, kind in typemap.items() if key.split(".")[0] == variable}
        numbas = {"bool" if kind == "boolean" else kind for kind in numbas if "(" not in kind} | {
            "int64" for kind in numbas if kind.startswith("Literal[int]")
        }
        assert kinds <= numbas, (variable, kinds, numbas)


@pytest.mark.parametrize("name", ["guard", "shared_histogram", "tiled_matmul", "votes", "nested_leaving"])
def test_small_batches_give_the_same_result(name, monkeypatch):
    monkeypatch.setattr("course.simulator.batches.LANES_PER_BATCH", 256)
    case = CASES[name]
    _, found = simulate(name)
    expected = case.expected(*arguments_of(name))
    same(name, case.out[0], found[0], np.asarray(expected), case.tolerance)
