"""Practice with prices: what a stage costs in resident blocks, and what freed registers give back."""

from __future__ import annotations

from course.cards import CARDS
from course.checks.parts import Misconception, Number
from course.checks.question import Question
from course.models.occupancy import occupancy
from course.models.pipeline import largest_stages

__all__ = ["P3", "P4"]

_CARD = "a100-80gb"
_sm = CARDS[_CARD].limits
assert _sm is not None
_THREADS = 256

# p3: the price of a stage -------------------------------------------------------------------------

_TILE, _REGISTERS = 27 * 1024, 32
_blocks = {stages: int(occupancy(_CARD, _THREADS, _REGISTERS, stages * _TILE).blocks_per_sm) for stages in (1, 2, 3, 4)}
_without = int(occupancy(_CARD, _THREADS, _REGISTERS, 0).blocks_per_sm)
_two_blocks = largest_stages(_CARD, _TILE, 2, threads_per_block=_THREADS, registers_per_thread=_REGISTERS)

P3 = Question(
    name="cp_async/p3",
    statement=(
        "A block of 256 threads with 32 registers each keeps tiles of 27 KiB on an A100 (80 GB). The SM has 164 KiB of "
        "shared memory, and 1 KiB is reserved for each block."
    ),
    parts=(
        Number(
            name="two_stages",
            points=1,
            asks="resident blocks with two stages",
            unit="blocks per SM",
            expected=_blocks[2],
            hint="What does one block take, with what is reserved for it?",
            misconceptions=(
                Misconception(_sm.shared_bytes_per_sm // (2 * _TILE), "This forgets what is reserved for each block."),
                Misconception(_blocks[1], "This is with one stage."),
                Misconception(_blocks[4], "This is with four stages."),
            ),
        ),
        Number(
            name="four_stages",
            points=1,
            asks="resident blocks with four stages",
            unit="blocks per SM",
            expected=_blocks[4],
            hint="Twice the stages take twice the shared memory.",
            misconceptions=(
                Misconception(_blocks[2], "This is with two stages, or with three."),
                Misconception(_blocks[1], "This is with one stage."),
                Misconception(_without, "This is without shared memory."),
            ),
        ),
        Number(
            name="most_stages",
            points=1,
            asks="most stages with which two blocks are resident",
            unit="stages",
            expected=_two_blocks,
            hint="Each of the two blocks gets half of the SM's shared memory, less what is reserved.",
            misconceptions=(
                Misconception(
                    _sm.shared_bytes_per_block_opt_in // _TILE, "This is for a single block: now there are two."
                ),
                Misconception(_without, "These are the blocks without shared memory. Asked are stages."),
                Misconception(2, "More fit."),
            ),
        ),
    ),
    worked=(
        f"Two stages take 2 × {_TILE:,} B, and {_sm.shared_reserved_bytes_per_block:,} B are reserved on top. "
        f"{_sm.shared_bytes_per_sm:,} ÷ {2 * _TILE + _sm.shared_reserved_bytes_per_block:,} gives **{_blocks[2]}** "
        f"blocks. Four stages leave **{_blocks[4]}**. Two blocks have {_sm.shared_bytes_per_sm // 2:,} B each, less "
        f"what is reserved: room for **{_two_blocks}** stages. Without shared memory there would be {_without} blocks. "
        "So a deep pipeline hides latency inside a block, and takes away warps that hide it too. Which of the two is "
        "better, only a measurement tells."
    ),
)

# p4: registers that are freed ----------------------------------------------------------------------

_HELD = 96
"""Bytes of the next tile that one thread holds."""
_WITH, _WORD = 72, 4
_freed = _HELD // _WORD
_before, _after = (
    int(occupancy(_CARD, _THREADS, registers, 0).blocks_per_sm) for registers in (_WITH, _WITH - _freed)
)  # fmt: skip

P4 = Question(
    name="cp_async/p4",
    statement=(
        "A kernel with 256 threads a block holds the next tile in registers: 96 bytes in each thread. It needs 72 "
        "registers a thread. With `cp_async` the tile no longer passes through registers. The card is an A100."
    ),
    parts=(
        Number(
            name="freed",
            points=1,
            asks="registers of each thread that held the tile",
            unit="registers",
            expected=_freed,
            hint="A register holds one word.",
            misconceptions=(
                Misconception(_HELD, "These are bytes. A register holds several."),
                Misconception(_HELD // 8, "This is for registers of eight bytes: those of a GPU hold one word."),
                Misconception(_HELD // 16, "These are the copies of the widest kind. Each brings several words."),
            ),
        ),
        Number(
            name="blocks_before",
            points=1,
            asks="resident blocks before, when registers are the only limit",
            unit="blocks per SM",
            expected=_before,
            hint="All registers of the SM, over those of a block.",
            misconceptions=(
                Misconception(_after, "This is with the registers that are left after the change."),
                Misconception(_sm.warps_per_sm * 32 // _THREADS, "This is what the warp slots allow."),
                Misconception(_sm.blocks_per_sm, "This is what the block slots allow."),
            ),
        ),
        Number(
            name="blocks_after",
            points=1,
            asks="resident blocks after, if exactly these registers are freed",
            unit="blocks per SM",
            expected=_after,
            hint="The same division, with fewer registers.",
            misconceptions=(
                Misconception(_before, "This is before the change."),
                Misconception(_sm.warps_per_sm * 32 // _THREADS, "This is what the warp slots allow."),
                Misconception(_sm.blocks_per_sm, "This is what the block slots allow."),
            ),
        ),
    ),
    worked=(
        f"{_HELD} bytes are **{_freed}** registers of {_WORD} bytes. Before: {_sm.registers_per_sm:,} ÷ ({_WITH} × "
        f"{_THREADS}) leaves room for **{_before}** blocks. After: {_WITH - _freed} registers, **{_after}** blocks. "
        "Whether the compiler really frees all of them, only the compiler can say: ask it before and after."
    ),
)
