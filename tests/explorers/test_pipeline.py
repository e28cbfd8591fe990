"""The pipeline explorer without a browser: set a control, read the page back, compare with the chapter's formula."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course import explore
from course.cards import LIMITS
from course.explorers._pipeline import PRESETS, PipelineExplorer, Settings, difference


def parsed(html):
    return ElementTree.fromstring(f"<body>{html}</body>")


def numbers(explorer):
    return {dd.get("data-name"): float(dd.get("data-value")) for dd in parsed(explorer.picture.value).iter("dd")}


def formula(tiles, load, compute, stages):
    """Section "pipeline time" of the chapter."""
    if stages == 1:
        return tiles * (load + compute)
    return load + (tiles - 1) * max(load, compute) + compute


@pytest.fixture(scope="module")
def explorer():
    return PipelineExplorer(Settings())


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 8), st.integers(1, 12), st.integers(1, 12), st.integers(1, 4), st.sampled_from((4, 8, 16, 32)))
def test_any_setting_shows_the_time_of_the_formula(explorer, tiles, load, compute, stages, kib):
    explorer.set(Settings(tiles, load, compute, stages, 1, kib))
    shown = numbers(explorer)
    assert shown["time"] == formula(tiles, load, compute, stages)
    assert shown["speed_up"] == formula(tiles, load, compute, 1) / formula(tiles, load, compute, stages)
    assert shown["idle"] == shown["time"] - tiles * compute
    assert shown["waits"] == tiles
    assert shown["shared"] == stages * kib * 1024


# Times worked out on paper; "long latency" has three loads on their way at once.
BY_HAND = {
    "double buffer": (22, 30),
    "no overlap": (30, 30),
    "load-bound": (57, 72),
    "compute-bound": (57, 72),
    "balanced": (54, 96),
    "one tile": (10, 10),
    "third stage, same memory": (57, 72),
    "long latency, deep pipeline": (44, 128),
    "stages that cost blocks": (42, 72),
}


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_shows_the_times_worked_out_on_paper(name):
    explorer = PipelineExplorer(Settings())
    explorer.presets.value = name
    time, serial = BY_HAND[name]
    shown = numbers(explorer)
    assert (shown["time"], shown["speed_up"]) == (time, serial / time)
    assert PRESETS[name].about in "".join(parsed(explorer.notes.value).itertext())


def test_shared_memory_of_the_stages_decides_how_many_blocks_fit():
    explorer = PipelineExplorer(Settings(stages=4, tile_kib=32))
    largest = LIMITS["8.0"].shared_bytes_per_sm
    assert numbers(explorer)["blocks"] == largest // (4 * 32 * 1024 + 1024) == 1
    explorer.panel.controls["tile_kib"].value = 16
    assert numbers(explorer)["blocks"] == largest // (4 * 16 * 1024 + 1024) == 2
    explorer.panel.controls["stages"].value = 1
    assert numbers(explorer)["blocks"] == 8  # 2048 threads / 256


def test_stages_that_do_not_fit_a_block_are_named_and_a_card_without_cp_async_too():
    explorer = PipelineExplorer(Settings(stages=4, tile_kib=32))
    explorer.panel.controls["card"].value = "t4"
    assert numbers(explorer)["blocks"] == 0
    assert "T4 gives a block less than 131,072 B of shared memory" in explorer.notes.value
    assert "compute capability 7.5, and cp.async begins with 8.0" in explorer.notes.value


def test_a_preset_leaves_the_chosen_card():
    explorer = PipelineExplorer(Settings())
    explorer.panel.controls["card"].value = "h200"
    explorer.presets.value = "load-bound"
    assert explorer.settings == Settings(6, 9, 3, 2, 1, 8, "h200")
    assert explorer.presets.value == "load-bound"


class Machine:
    """Runs the loop in outline: a copy lands at the wait for its group, in a buffer that nobody needs any more."""

    def __init__(self, stages):
        self.buffer = [[n] for n in range(stages)]
        self.open, self.groups, self.held, self.computed = [], [], {}, []

    def start_copy(self, tile, buffer):
        before = tile - len(self.buffer)
        assert before < 0 or before in self.synced, f"tile {tile} overwrites tile {before}"
        self.open.append((tile, buffer[0]))

    def load(self, tile, buffer):
        self.held[buffer[0]] = tile

    def cp_async_commit(self):
        self.groups.append(self.open)
        self.open = []

    def cp_async_wait(self, pending):
        for group in self.groups[: len(self.groups) - pending]:
            for tile, buffer in group:
                self.held[buffer] = max(tile, self.held.get(buffer, 0))

    def syncthreads(self):
        self.synced = set(self.computed)

    def compute(self, buffer):
        self.computed.append(self.held[buffer[0]])


@pytest.mark.parametrize("stages", [1, 2, 3, 4])
@pytest.mark.parametrize("tiles", [4, 9])
def test_the_loop_in_outline_computes_every_tile_after_it_landed(stages, tiles):
    machine = Machine(stages)
    names = {name: getattr(machine, name) for name in ("start_copy", "load", "compute", "buffer")}
    exec(outline(stages), {"cuda": machine, "tiles": tiles, **names})
    assert machine.computed == list(range(tiles))


def outline(stages):
    return "".join(parsed(PipelineExplorer(Settings(stages=stages)).notes.value).find("pre").itertext())


def test_it_says_that_there_is_no_profile_and_offers_none():
    explorer = PipelineExplorer(Settings())
    assert "the simulator counts accesses and has no clock" in explorer.notes.value
    assert not any(getattr(part, "description", "") == "Profile this" for part in explorer.parts)


def test_reset_returns_to_where_it_started():
    explorer = PipelineExplorer(PRESETS["balanced"].settings)
    before = explorer.picture.value
    explorer.set(Settings(1, 1, 1, 4, 3, 32, "t4"))
    explorer.reset.click()
    assert (explorer.settings, explorer.picture.value) == (PRESETS["balanced"].settings, before)


def test_the_live_sentence_is_the_alt_text_of_the_chart():
    explorer = PipelineExplorer(Settings())
    explorer.panel.controls["compute"].value = 9
    (status,) = [p for p in parsed(explorer.status.value).iter() if p.get("role") == "status"]
    (chart,) = [p for p in parsed(explorer.picture.value).iter() if p.get("role") == "img"]
    assert status.text == chart.get("aria-label")


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (22, "You said 22, and it is 22: right."),
        (30, "where load and compute take turns"),
        (15, "more buffers do not divide the time"),
        (18, "leaves out the first load"),
        (12, "is only the loads"),
        (20, "2 more than you said"),
        (25, "3 less than you said"),
    ],
)
def test_a_prediction_is_answered_with_one_sentence_about_the_difference(said, words):
    answer = difference(said, Settings())
    assert words in answer
    assert answer.count(". ") == 0 and answer.endswith(".")


def test_an_impossible_question_is_refused_before_anything_is_shown():
    with pytest.raises(ValueError, match="tiles is 0: expected a whole number"):
        explore.predict_pipeline_time(tiles=0)
    with pytest.raises(ValueError, match="there are: double buffer, no overlap"):
        explore.pipeline("triple buffer")


def test_the_calls_of_these_pages_run_without_a_word_on_stderr_and_stay_small(tmp_path):
    import nbformat
    from nbclient import NotebookClient

    calls = ["pipeline()", "predict_pipeline_time()", "pyramid()", "way_of_a_load()"]
    cells = ["from course import explore", *(f"explore.{call}" for call in calls)]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    NotebookClient(notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": tmp_path}}).execute()
    outputs = [output for cell in notebook.cells for output in cell.outputs]
    assert [output.output_type for output in outputs] == ["display_data"] * 7
    assert all(len(json.dumps(output)) < 40_000 for output in outputs)
