"""The explorer of chapter `occupancy`: a launch and what it takes -> blocks by every limit, and the occupancy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from course.cards import CARDS, SmLimits, card, limits
from course.explorers.controls import Dropdown, Number
from course.explorers.display import show
from course.explorers.explorer import Drawing, Explorer, Preset, by_name, start, still
from course.explorers.predict import Prediction, folded
from course.explorers.profile_button import Comparison, Row
from course.figures import occupancy as figure
from course.figures.parts import count, number_list
from course.figures.style import image
from course.figures.svg import clean, element
from course.models.occupancy import Occupancy, sweep
from course.models.occupancy import occupancy as model

__all__ = [
    "PRESETS",
    "OccupancyExplorer",
    "Settings",
    "arithmetic",
    "compare",
    "difference",
    "occupancy",
    "predict_blocks",
]

BLOCKS = 2
"""Blocks of the launch that is profiled."""


@dataclass(frozen=True)
class Settings:
    """One launch on one card."""

    card: str = "a100-80gb"
    threads: int = 256
    registers: int = 40
    """Of a thread."""
    shared: int = 0
    """Bytes of a block."""

    @property
    def sm(self) -> SmLimits:
        """What an SM of the card offers."""
        return limits(self.card)

    @property
    def result(self) -> Occupancy:
        """Blocks by every limit."""
        return model(self.sm, self.threads, self.registers, self.shared)

    @property
    def curves(self) -> list[figure.Curve]:
        """The occupancy over each setting, the other two held."""
        held: dict[Any, int] = {
            "threads_per_block": self.threads,
            "registers_per_thread": self.registers,
            "shared_bytes_per_block": self.shared,
        }
        swept = {over: sweep(self.sm, over, **held) for over in held}
        return [figure.Curve(over, values, found.occupancy, held[over]) for over, (values, found) in swept.items()]


PRESETS = by_name(
    Preset(
        "worked budget",
        Settings(shared=2176),
        "The budget of a tiled kernel: 40 registers a thread and two tiles [16][17] of floats. Registers decide.",
    ),
    Preset(
        "72 registers",
        Settings(registers=72, shared=2176),
        "The same kernel after an unroll: three blocks, 37.5 %, not half. And it may well be faster than before.",
    ),
    Preset(
        "64 registers",
        Settings(registers=64, shared=2176),
        "The most registers with which half of the warp slots stay in use.",
    ),
    Preset(
        "255 registers",
        Settings(registers=255),
        "The most that a thread can have. One block of eight warps is resident, and little is there to hide latency.",
    ),
    Preset(
        "255 registers, 512 threads",
        Settings(threads=512, registers=255),
        "One block asks for more registers than the SM has: the launch fails with an error about resources.",
    ),
    Preset("all warp slots", Settings(registers=32), "32 registers are the most with which every warp slot is taken."),
    Preset(
        "small blocks",
        Settings("t4", 32, 32),
        "Blocks of one warp: the T4 has room for more warps, but it holds no more than 16 blocks.",
    ),
    Preset(
        "blocks of 1024",
        Settings("rtx-4090", 1024, 32),
        "48 warp slots hold one block of 32 warps, and 16 slots stay empty. Smaller blocks would fill them.",
    ),
    Preset(
        "large tiles",
        Settings(shared=73728),
        "Two tiles of 96 x 96 floats: shared memory decides, and two blocks are the most.",
    ),
)


def occupancy(preset: str = "worked budget") -> None:
    """Play with a launch: how many of its blocks an SM holds, and which limit stops it from holding more.

    preset: the launch to start from, by its name in the explorer ("72 registers", "small blocks", ...).
    """
    begin = start(PRESETS, preset)
    show(_still(begin), OccupancyExplorer(begin).parts)


def predict_blocks(threads: int = 256, registers: int = 40, shared: int = 0, *, on: str = "a100-80gb") -> None:
    """Ask how many blocks one SM holds; the limits show after the student's number.

    threads: of a block. registers: of a thread. shared: bytes of a block.
    """
    settings = Settings(card(on).key, threads, registers, shared)
    settings.result  # refuses numbers that make no sense before anything is shown  # noqa: B018
    sm = settings.sm
    question = (
        f"A block has {count(threads, 'thread')}, each with {count(registers, 'register')}, and {shared:,} B of shared "
        f"memory. An SM of {card(on).name} has {sm.warps_per_sm} warp slots, {sm.blocks_per_sm} block slots, "
        f"{sm.registers_per_sm:,} registers and {sm.shared_bytes_per_sm:,} B of shared memory. How many blocks does it "
        "hold at a time?"
    )
    prediction = Prediction(question, lambda number: _reveal(number, settings), high=99_999)
    show(folded(question, _still(settings)), prediction.parts)


class OccupancyExplorer(Explorer[Settings]):
    """Threads, registers and shared memory of a launch; a bar for every limit, and three curves."""

    def __init__(self, begin: Settings) -> None:
        self._plot = figure.OccupancyPlot()
        cards = [(f"{one.name} (CC {one.compute_capability})", key) for key, one in CARDS.items() if one.limits]
        self.card = Dropdown("Card", cards, begin.card)
        self.shared = Number("Shared/block", begin.shared, 0, begin.sm.shared_bytes_per_block_opt_in)
        self.card.source.observe(self._on_card, names="value")
        super().__init__(
            PRESETS,
            begin,
            {
                "card": self.card,
                "threads": Number("Threads/block", begin.threads, 1, 1024),
                "registers": Number("Regs/thread", begin.registers, 1, 255),
                "shared": self.shared,
            },
            [["card", "threads"], ["registers", "shared"]],
        )

    def _on_card(self, change: Any) -> None:
        """A block of another card can have more shared memory, or less."""
        with self.panel.quietly():
            self.shared.limit(limits(change.new).shared_bytes_per_block_opt_in)

    def draw(self, settings: Settings) -> Drawing:
        """Bars and curves, the numbers, the sentence and the launch."""
        words = figure.sentence(settings.result)
        self._plot.draw(settings.result, settings.curves)
        return Drawing(
            self._plot.image(words) + number_list(figure.quantities(settings.result)), words, _notes(settings)
        )

    def compare(self, settings: Settings) -> Comparison:
        """Profile a launch of this size: what a profile can know of it."""
        return compare(settings)


def compare(settings: Settings) -> Comparison:
    """Run a kernel with so many threads a block that uses all the shared memory of its blocks."""
    import numpy as np

    from course.kernels.occupancy import staged, unstaged
    from course.profiling.profile import profile

    words = settings.shared // 4
    x = np.ones(max(words, BLOCKS * settings.threads), np.float32)
    out = np.zeros(BLOCKS * settings.threads, np.float32)
    arguments = [x, out, words] if words else [x, out]
    kernel = staged if words else unstaged
    taken = profile(kernel, BLOCKS, settings.threads, *arguments, shared_bytes=settings.shared)
    stores = next(site for site in taken.sites if site.site.kind == "store" and site.site.space == "global")
    written = taken.total("shared", "requested_bytes", "store") // BLOCKS
    rows = [
        Row("Threads per block", settings.threads, stores.active_lanes / BLOCKS),
        Row("Warps per block", int(settings.result.warps_per_block), stores.instructions / BLOCKS),
        Row("Shared bytes per block", settings.shared, taken.shared_bytes, "B"),
        Row("of these, written", 4 * words, written, "B"),
    ]
    names = f"x, out, {words}" if words else "x, out"
    launch = f"{taken.kernel}{_configuration(str(BLOCKS), settings)}({names})"
    refused = (
        ""
        if settings.result.blocks_per_sm
        else " A GPU would refuse this launch; the simulator has no registers to run out of."
    )
    return Comparison(
        taken,
        launch,
        rows,
        note="A profile cannot know registers (the compiler chooses them) nor blocks per SM (the card places them): "
        f"those are the model's alone.{refused}",
    )  # fmt: skip


def _configuration(blocks: str, settings: Settings) -> str:
    shared = f", 0, {settings.shared}" if settings.shared else ""
    return f"[{blocks}, {settings.threads}{shared}]"


def _still(settings: Settings) -> str:
    words = figure.sentence(settings.result)
    return still(
        image(figure.occupancy(settings.result, settings.curves), words), clean(_launch(settings) + ". " + words)
    )


def _launch(settings: Settings) -> str:
    return (
        f"{card(settings.card).name}, {count(settings.threads, 'thread')} a block, "
        f"{count(settings.registers, 'register')} a thread, {settings.shared:,} B of shared memory a block"
    )


def _notes(settings: Settings) -> str:
    """The launch, the arithmetic of the limit that binds, and what the picture leaves out."""
    limiter = settings.result.limiters[0]
    launch = element("code", clean(f"kernel{_configuration('blocks', settings)}(...)"))
    registers = element("code", "kernel.get_regs_per_thread()")
    expression, words = arithmetic(settings)
    lines = [
        f"The launch: {launch} The compiler chooses the registers: {registers} tells how many.",
        f"Blocks by {figure.NAMES[limiter]}: " + element("code", clean(expression)) + clean(f" ({words})."),
    ]
    small = (
        "The rules are those of NVIDIA's occupancy calculator, with shared memory as large as the card can make it. "
        "Hatched: more than a block can have. Occupancy is room for hiding latency, not speed."
    )
    return "".join(element("p", line) for line in lines) + element("p", small, class_="small quiet")


def arithmetic(settings: Settings) -> tuple[str, str]:
    """How the blocks of the first limit that binds follow: with the values filled in, and in words."""
    found, sm = settings.result, settings.sm
    warps, blocks = int(found.warps_per_block), int(found.blocks_per_sm)
    limiter = found.limiters[0]
    if not blocks:
        even = -(-warps // sm.partitions_per_sm) * sm.partitions_per_sm
        needed = f"{even} * {int(found.registers_per_block) // warps} > {sm.registers_per_block}"
        return (
            needed,
            f"warps of a block in whole {sm.partitions_per_sm}s * registers of a warp, and the most of a block",
        )
    if limiter == "warps":
        return f"{sm.warps_per_sm} // {warps} = {blocks}", "warp slots // warps of a block"
    if limiter == "registers":
        part, per_warp = sm.registers_per_sm // sm.partitions_per_sm, int(found.registers_per_block) // warps
        words = "registers of a partition // those of a warp * partitions // warps of a block"
        return f"{part} // {per_warp} * {sm.partitions_per_sm} // {warps} = {blocks}", words
    if limiter == "shared":
        words = "shared bytes of the SM // those of a block, with the reserved part and in whole units"
        return f"{sm.shared_bytes_per_sm} // {int(found.shared_bytes_per_block)} = {blocks}", words
    return f"{blocks}", "as many as there are"


def _reveal(number: int, settings: Settings) -> str:
    plot = figure.OccupancyPlot()
    plot.draw(settings.result, settings.curves, said=number)
    truth = int(settings.result.blocks_per_sm)
    return (
        element("p", clean(difference(number, settings)), role="status", data_prediction=number, data_truth=truth)
        + plot.image(figure.sentence(settings.result))
        + number_list(figure.quantities(settings.result))
    )


def difference(number: int, settings: Settings) -> str:
    """One sentence about a prediction of the blocks on an SM, beside the truth."""
    found, sm = settings.result, settings.sm
    truth, warps = int(found.blocks_per_sm), int(found.warps_per_block)
    if number == truth:
        return f"You said {number}, and it is {truth}: right."
    both = f"You said {number}, and it is {truth}: "
    binding = " and ".join(figure.NAMES[one] for one in found.limiters)
    for name, blocks in figure.allowed(found).items():
        if number == blocks:
            return both + f"{number} is what {figure.NAMES[name]} allow, but {binding} allow fewer."
    if number == int(found.warps_per_sm):
        return both + f"{number} is the number of resident warps, and a block has {count(warps, 'warp')}."
    if number == sm.registers_per_sm // (settings.threads * settings.registers):
        return (
            both
            + f"registers are handed to warps in units of {sm.registers_unit}, from {sm.partitions_per_sm} partitions."
        )
    if settings.shared and number == sm.shared_bytes_per_sm // settings.shared:
        return both + "each block also takes a reserved part of shared memory, and whole units of it."
    few = "more" if number < truth else "fewer"
    return (
        both + f"{abs(number - truth)} {few} than you said; take the smallest of all limits, which here is {binding}."
    )
