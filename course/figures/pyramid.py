"""The memory pyramid: the levels from registers down to DRAM, who sees them, how large they are, how long they take.

Sizes are those of a card (`course.cards`); waits are those of one H200 (`course.measured.latency`).
"""

from __future__ import annotations

from dataclasses import dataclass

from course.cards import KIB, MIB, Card
from course.figures.parts import frame, picture, table
from course.figures.svg import element, text
from course.measured import Latency

__all__ = ["Tier", "names_table", "pyramid_image", "pyramid_svg", "sentence", "tiers"]

WIDTH, HEIGHT = 800, 292
_TOP, _TIER, _GAP = 30, 58, 6
_NARROW, _WIDE = 128, 268
_SCOPE_X, _SIZE_X, _WAIT_X = 300, 440, 646
_WAIT_WIDTH = 144

_NAMES = (
    ("multiprocessor", "SM (streaming multiprocessor)", "CU (compute unit)"),
    ("one thread", "thread; lane of a warp", "work-item; lane of a wavefront"),
    ("lanes that run as one", "warp, 32 lanes", "wavefront, 64 lanes (CDNA)"),
    ("threads with one scratchpad", "block", "workgroup"),
    ("memory of one lane", "registers", "VGPRs (vector registers)"),
    ("scratchpad of a block", "shared memory", "LDS (local data share)"),
    ("cache of an SM or CU", "L1, in one pool with shared memory", "vector L1, apart from the LDS"),
    ("cache of the whole chip", "L2", "L2, one per die (XCD); then Infinity Cache"),
    ("memory of the card", "DRAM (HBM or GDDR)", "DRAM (HBM)"),
)


@dataclass(frozen=True)
class Tier:
    """One level of the pyramid, in the words of the picture."""

    name: str
    also: str
    """AMD's name, where it is another one."""
    scope: tuple[str, str]
    size: tuple[str, str]
    """On the whole card, and how it comes about."""
    wait: tuple[str, str]
    """In clock cycles, and as a multiple of the registers' wait."""
    cycles: float


def tiers(card: Card, latency: Latency) -> tuple[Tier, ...]:
    """The levels on this card, fastest first."""
    cycles = latency.cycles
    shared_wait = f"{_about(cycles['shared'])} cycles (L1: {_about(cycles['l1'])})"
    return (
        Tier(
            "registers",
            "VGPRs",
            ("one lane", "private to a thread"),
            _per_multiprocessor(card, card.register_bytes_per_multiprocessor),
            (f"{_about(cycles['registers'])} cycles", "1×"),
            cycles["registers"],
        ),
        Tier(
            "shared and L1",
            "LDS and vector L1",
            ("one block", f"L1: all on this {_multiprocessor(card)}"),
            _per_multiprocessor(card, card.shared_bytes_per_multiprocessor, _pool(card)),
            (shared_wait, _times(cycles, "shared")),
            cycles["shared"],
        ),
        Tier(
            "L2",
            "",
            ("all blocks", "of the whole chip"),
            (_size(card.l2_bytes), "all dies together" if card.lanes_per_warp == 64 else ""),
            (f"{_about(cycles['l2'])} cycles", _times(cycles, "l2")),
            cycles["l2"],
        ),
        Tier(
            "DRAM",
            "",
            ("all blocks", "and the host"),
            (
                "with the CPU's" if card.kind == "integrated gpu" else f"{card.memory_gb} GB",
                f"{card.dram_gb_per_s:,g} GB/s",
            ),
            (f"{_about(cycles['dram'])} cycles", _times(cycles, "dram")),
            cycles["dram"],
        ),
    )


def sentence(card: Card, latency: Latency) -> str:
    """The picture in words: alt text and caption."""
    levels = "; ".join(
        f"{tier.name}: {tier.size[0]}, seen by {tier.scope[0]}, a wait of about {tier.wait[0]}"
        for tier in tiers(card, latency)
    )
    return f"The memory pyramid of the {card.name}, from small and fast to large and slow. {levels}."


def names_table() -> str:
    """NVIDIA's and AMD's names side by side, as an HTML table."""
    return element("div", table(("What it is", "NVIDIA", "AMD"), _NAMES), class_="words")


def pyramid_image(card: Card, latency: Latency) -> str:
    """The picture as ``<img alt>``: it survives viewers that remove inline SVG. Always light."""
    return picture(pyramid_svg(card, latency, alone=True), sentence(card, latency), WIDTH)


def pyramid_svg(card: Card, latency: Latency, *, alone: bool = False) -> str:
    """The pyramid as an SVG of fixed size; `alone`: with its own style, else it takes the page's."""
    body = [
        text(_SCOPE_X, 18, "Who sees it", class_="tier"),
        text(_SIZE_X, 18, "Size", class_="tier"),
        text(0, 18, card.name, class_="tier"),
        text(_WAIT_X, 18, "Wait (H200)", class_="tier"),
    ]
    for n, tier in enumerate(tiers(card, latency)):
        body += _draw(n, tier, _WAIT_WIDTH * tier.cycles / latency.cycles["dram"])
    return frame(body, WIDTH, HEIGHT, sentence(card, latency), alone=alone)


def _draw(n: int, tier: Tier, bar: float) -> list[str]:
    """A slice of the pyramid, its row of words, and a bar as long as the wait."""
    top = _TOP + n * (_TIER + _GAP)
    middle = _WIDE / 2
    step = (_WIDE - _NARROW) / 4 / 2
    above, below = _NARROW / 2 + n * step, _NARROW / 2 + (n + 1) * step
    outline = f"M{middle - above:g} {top}H{middle + above:g}L{middle + below:g} {top + _TIER}H{middle - below:g}z"
    line = top + _TIER + _GAP / 2
    two = bool(tier.also)
    parts = [
        element("path", d=outline, class_="box"),
        text(middle, top + (27 if two else 34), tier.name, class_="tier middle"),
        text(middle, top + 44, tier.also, class_="quiet middle") if two else "",
        element("path", d=f"M{_SCOPE_X} {line:g}H{WIDTH - 10}", class_="grid") if n < 3 else "",
    ]
    for x, (first, second) in ((_SCOPE_X, tier.scope), (_SIZE_X, tier.size), (_WAIT_X, tier.wait)):
        parts += [text(x, top + 18, first), text(x, top + 34, second, class_="quiet") if second else ""]
    parts.append(element("rect", x=_WAIT_X, y=top + 42, width=bar, height=8, class_="used"))
    return [element("g", "".join(parts), data_tier=tier.name)]


def _per_multiprocessor(card: Card, size: int | None, more: str = "") -> tuple[str, str]:
    """What all multiprocessors have together, and one of them."""
    if size is None:
        return ("not published", "")
    return (
        _size(size * card.multiprocessors),
        f"{card.multiprocessors} {_multiprocessor(card)}s × {_size(size)}{more}",
    )


def _multiprocessor(card: Card) -> str:
    if card.limits:
        return "SM"
    return "CU" if card.kind == "gpu" else "core"


def _pool(card: Card) -> str:
    """On NVIDIA's cards shared memory is a part of one pool with L1, this large at most."""
    return f" of {_size(card.limits.l1_and_shared_bytes_per_sm)}" if card.limits else ""


def _size(size: int | None) -> str:
    if size is None:
        return "not published"
    return f"{size / MIB:.3g} MiB" if size >= MIB else f"{size / KIB:.3g} KiB"


def _about(cycles: float) -> str:
    """One digit, or two below a hundred: an order of magnitude, not a promise."""
    return f"{round(cycles, -1 if cycles >= 100 else 0):.0f}"


def _times(cycles: dict[str, float], level: str) -> str:
    return f"{cycles[level] / cycles['registers']:.0f}× the registers'"
