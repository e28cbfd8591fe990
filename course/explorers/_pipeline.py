"""The explorer of chapter `cp_async`: times and stages -> schedule -> Gantt chart, numbers, the loop in outline.

The simulator counts what a kernel does and has no clock, so here is no "Profile this": the times are the model's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from course.cards import CARDS
from course.explorers.controls import Choice, Dropdown, Number
from course.explorers.display import show
from course.explorers.explorer import Drawing, Explorer, Preset, by_name, start, still
from course.explorers.predict import Prediction, folded
from course.figures import pipeline as figure
from course.figures.parts import count
from course.figures.svg import clean, element
from course.models.occupancy import occupancy
from course.models.pipeline import Schedule, pipeline_time
from course.models.pipeline import pipeline as schedule

__all__ = ["PRESETS", "PipelineExplorer", "Settings", "difference", "pipeline", "predict_pipeline_time"]

THREADS, REGISTERS = 256, 32
"""The block that the number of blocks per SM is about."""


@dataclass(frozen=True)
class Settings:
    """A loop over tiles; times in any one unit."""

    tiles: int = 3
    load: int = 4
    compute: int = 6
    stages: int = 2
    loads_at_once: int = 1
    """Loads that the memory brings at the same time, each as fast as alone."""
    tile_kib: int = 8
    card: str = "a100-80gb"

    def schedule(self, stages: int | None = None) -> Schedule:
        """When each tile is loaded and computed, in the set number of stages or another one."""
        return schedule(
            self.tiles,
            self.load,
            self.compute,
            stages or self.stages,
            loads_at_once=self.loads_at_once,
            tile_bytes=1024 * self.tile_kib,
        )

    @property
    def blocks_per_sm(self) -> int:
        """Blocks that fit on one SM with this much shared memory each; 0 if not even one does."""
        shared = self.schedule().shared_bytes
        return int(occupancy(self.card, THREADS, REGISTERS, shared).blocks_per_sm)


PRESETS = by_name(
    Preset(
        "double buffer",
        Settings(),
        "While the threads compute a tile, the next one is on its way. Only the first load has nothing to hide behind.",
    ),
    Preset("no overlap", Settings(stages=1), "One buffer: load and compute take turns, and each waits for the other."),
    Preset(
        "load-bound",
        Settings(tiles=6, load=9, compute=3),
        "The loads are longer, so they set the pace. The threads still wait, only less.",
    ),
    Preset(
        "compute-bound",
        Settings(tiles=6, load=3, compute=9),
        "The loads are shorter and vanish behind the computing. What is left to make faster is the computing.",
    ),
    Preset(
        "balanced",
        Settings(tiles=8, load=6, compute=6),
        "Both take equally long: here overlap gains most, and it nears a factor of two as the tiles become more.",
    ),
    Preset(
        "one tile", Settings(tiles=1), "There is no second tile to load meanwhile, so a second stage gains nothing."
    ),
    Preset(
        "third stage, same memory",
        Settings(tiles=6, load=9, compute=3, stages=3),
        "The memory already works all the time. A third stage costs shared memory and gains nothing.",
    ),
    Preset(
        "long latency, deep pipeline",
        Settings(tiles=8, load=12, compute=4, stages=4, loads_at_once=3),
        "Loads take long, but three travel at once: more stages keep more of them in flight.",
    ),
    Preset(
        "stages that cost blocks",
        Settings(tiles=6, load=6, compute=6, stages=4, tile_kib=32),
        "Four stages of 32 KiB: the loads hide well, but shared memory leaves room for few blocks on an SM.",
    ),
)


def pipeline(preset: str = "double buffer") -> None:
    """Play with the loop over tiles: how much of the loading hides behind the computing, and what that costs.

    preset: the setting to start from, by its name in the explorer ("no overlap", "load-bound", ...).
    """
    explorer = PipelineExplorer(start(PRESETS, preset))
    show(_still(explorer.settings), explorer.parts)


def predict_pipeline_time(tiles: int = 3, load: int = 4, compute: int = 6, stages: int = 2) -> None:
    """Ask how long the tiles take; the chart shows after the student's number.

    load, compute: time of one tile, in whole units of any length.
    """
    settings = Settings(tiles, load, compute, stages)
    settings.schedule()  # refuses impossible numbers before anything is shown
    question = (
        f"A block works through {count(tiles, 'tile')}. Loading one takes {load}, computing it takes {compute}. "
        f"There {'is' if stages == 1 else 'are'} {count(stages, 'buffer')}, and the memory loads one tile at a time. "
        "How long does everything take?"
    )
    prediction = Prediction(question, lambda number: _reveal(number, settings), high=9999)
    show(folded(question, _still(settings)), prediction.parts)


class PipelineExplorer(Explorer[Settings]):
    """Load and compute times, tiles, stages; a chart of the schedule."""

    kept = ("card",)

    def __init__(self, begin: Settings) -> None:
        nvidia = [(card.name, key) for key, card in CARDS.items() if card.limits]
        numbers = [(str(n), n) for n in (1, 2, 3, 4)]
        super().__init__(
            PRESETS,
            begin,
            {
                "tiles": Number("Tiles", begin.tiles, 1, 8),
                "load": Number("Load time", begin.load, 1, 12),
                "compute": Number("Compute time", begin.compute, 1, 12),
                "stages": Choice("Stages", numbers[: figure.MOST_STAGES], begin.stages),
                "loads_at_once": Choice("Loads at once", numbers[:3], begin.loads_at_once),
                "tile_kib": Choice("Tile size", [(f"{n} KiB", n) for n in (4, 8, 16, 32)], begin.tile_kib),
                "card": Dropdown("Card", nvidia, begin.card),
            },
            [["tiles", "load", "compute", "card"], ["stages", "loads_at_once", "tile_kib"]],
        )

    @property
    def below(self) -> list[Any]:
        """Nothing: the simulator has no clock, so there is no profile to set beside the schedule."""
        return []

    def draw(self, settings: Settings) -> Drawing:
        """Chart, numbers, sentence, and the loop with the number of stages filled in."""
        serial, chosen = settings.schedule(1), settings.schedule()
        return Drawing(
            figure.pipeline_svg(serial, chosen) + figure.numbers(chosen, settings.blocks_per_sm),
            figure.sentence(serial, chosen),
            _notes(settings) + _code(settings.stages),
        )


def _still(settings: Settings) -> str:
    serial, chosen = settings.schedule(1), settings.schedule()
    return still(figure.pipeline_image(serial, chosen), clean(figure.sentence(serial, chosen)))


def _notes(settings: Settings) -> str:
    """What the card says about this setting, and what the chart leaves out."""
    card = CARDS[settings.card]
    shared = settings.schedule().shared_bytes
    if settings.blocks_per_sm:
        blocks = f"{count(settings.blocks_per_sm, 'block')} of {THREADS} threads fit on one SM of this card."
        blocks = blocks.replace("threads fit", "threads fits") if settings.blocks_per_sm == 1 else blocks
    else:
        blocks = f"{card.name} gives a block less than {shared:,} B of shared memory: the kernel does not start."
    copies = ""
    if card.limits and not card.limits.has_async_copy:
        copies = (
            f" {card.name} has compute capability {card.compute_capability}, and cp.async begins with 8.0: there the "
            "threads must load a tile through registers while they compute the one before."
        )
    small = (
        f"Blocks per SM: {REGISTERS} registers a thread. The chart is a model of one block and leaves out the "
        "barriers, the time it takes to start a copy, and what the other blocks of the SM do meanwhile. There is no "
        "profile here: the simulator counts accesses and has no clock. Only a GPU tells the real times."
    )
    return element("p", clean(blocks + copies)) + element("p", small, class_="small quiet")


def _code(stages: int) -> str:
    """The loop in outline, with this number of stages."""
    return element("p", "The loop in outline:") + element("pre", element("code", clean(_outline(stages))), tabindex=0)


def _outline(stages: int) -> str:
    if stages == 1:
        return """\
for k in range(tiles):
    load(k, buffer[0])            # through registers
    cuda.syncthreads()            # the tile is there for all
    compute(buffer[0])
    cuda.syncthreads()            # all are done: load over it"""
    ahead = stages - 1
    return f"""\
for k in range({ahead}):                # so many copies ahead
    start_copy(k, buffer[k])      # each thread: cuda.cp_async
    cuda.cp_async_commit()
for k in range(tiles):
    cuda.cp_async_wait({stages - 2})         # until tile k has landed
    cuda.syncthreads()            # for all; tile k - 1 is done
    if k + {ahead} < tiles:
        start_copy(k + {ahead}, buffer[(k + {ahead}) % {stages}])
    cuda.cp_async_commit()
    compute(buffer[k % {stages}])"""


def _reveal(number: int, settings: Settings) -> str:
    serial, chosen = settings.schedule(1), settings.schedule()
    said = difference(number, settings)
    return (
        element("p", clean(said), role="status", data_prediction=number, data_truth=f"{chosen.total_time:g}")
        + figure.pipeline_svg(serial, chosen)
        + figure.numbers(chosen, settings.blocks_per_sm)
    )


def difference(number: int, settings: Settings) -> str:
    """One sentence about a prediction of the time, beside the truth."""
    tiles, load, compute = settings.tiles, settings.load, settings.compute
    truth = float(pipeline_time(tiles, load, compute, settings.stages))
    if number == truth:
        return f"You said {number}, and it is {truth:g}: right."
    both = f"You said {number}, and it is {truth:g}: "
    serial = tiles * (load + compute)
    if number == serial:
        return both + f"{number} is the time with one buffer, where load and compute take turns."
    if settings.stages > 1 and number * settings.stages == serial:
        return both + "more buffers do not divide the time; the longer of load and compute sets the pace."
    if number == tiles * max(load, compute):
        end = "first load" if compute >= load else "last computation"
        return both + f"{number} leaves out the {end}, which nothing can hide."
    if number in (tiles * load, tiles * compute):
        return (
            both
            + f"{number} is only the {'loads' if number == tiles * load else 'computing'}, as if the rest were free."
        )
    if number < truth:
        return both + f"{truth - number:g} more than you said; the first load and the last computation stand alone."
    return both + f"{number - truth:g} less than you said; a load hides behind the computing of the tile before it."
