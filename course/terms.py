"""The words of the course: what each means, and the chapter that teaches it. One word for one thing, everywhere."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["CHAPTERS", "TERMS", "Chapter", "Term"]


@dataclass(frozen=True)
class Term:
    """One word."""

    name: str
    meaning: str
    chapter: str


@dataclass(frozen=True)
class Chapter:
    """One chapter: what it answers, and what it leaves open for the next one."""

    name: str
    answers: str
    leaves: str


CHAPTERS = (
    Chapter("coalescing", "What one load of a warp costs", "The bytes lie where they lie: who put them there?"),
    Chapter(
        "layout", "How to place data for the warp that reads it", "A transpose: one side is always against the grain"
    ),
    Chapter("tiling", "How shared memory turns and reuses data", "Is it fast now? What would be the limit?"),
    Chapter("roofline", "Which limit holds: bytes or arithmetic", "Below the roof, although all is coalesced"),
    Chapter("occupancy", "How many warps hide the waiting", "More warps cost registers and shared memory"),
    Chapter("cp_async", "How to load ahead while computing", "Nothing: the field guide sums it all up"),
)

TERMS = (
    Term("lane", "one place in a warp; the thread that runs there", "coalescing"),
    Term("warp", "32 lanes that run the same instruction together (a wavefront of 64 on AMD CDNA)", "coalescing"),
    Term("request", "one memory instruction of one warp", "coalescing"),
    Term("sector", "32 bytes, at an address that is a multiple of 32: the unit that is moved", "coalescing"),
    Term("line", "128 bytes: four sectors", "coalescing"),
    Term("requested bytes", "active lanes × element size", "coalescing"),
    Term("transferred bytes", "32 × sectors", "coalescing"),
    Term("efficiency", "requested ÷ transferred bytes", "coalescing"),
    Term("stride", "the distance from one lane to the next, in elements", "coalescing"),
    Term("aligned", "starting at a multiple of a size", "coalescing"),
    Term("array of structs", "all fields of one record side by side", "layout"),
    Term("struct of arrays", "one array for each field", "layout"),
    Term("amplification", "DRAM bytes ÷ useful bytes", "layout"),
    Term("shared memory", "fast memory on the chip that the threads of one block share", "tiling"),
    Term("barrier", "the place where all threads of a block wait for each other", "tiling"),
    Term("bank", "one of 32 parts of shared memory; each serves one 4-byte word in a pass", "tiling"),
    Term("conflict degree", "the most different words that the lanes want from one bank", "tiling"),
    Term("shared wavefront", "one pass of the shared-memory pipe", "tiling"),
    Term("race", "two threads use one place, one of them writes, and nothing orders them", "tiling"),
    Term("arithmetic intensity", "FLOP per DRAM byte", "roofline"),
    Term("ridge point", "the intensity at which bytes and arithmetic take equally long", "roofline"),
    Term("attainable", "the most FLOP per second at an intensity: min(intensity × bandwidth, peak)", "roofline"),
    Term("memory-bound", "left of the ridge: the bytes decide", "roofline"),
    Term("compute-bound", "right of the ridge: the arithmetic decides", "roofline"),
    Term("occupancy", "resident warps ÷ warp slots", "occupancy"),
    Term("bytes in flight", "what has been asked for and has not arrived: latency × bandwidth are needed", "occupancy"),
    Term("spill", "a value that found no register and lies in local memory", "occupancy"),
    Term("commit", "closes a group of copies that a thread has started; a wait waits for groups", "cp_async"),
    Term("double buffering", "loading one tile while another one is used", "cp_async"),
)
