"""Question 6: more registers, fewer warps, and still faster."""

from __future__ import annotations

from course.checks.parts import ChoiceSet, Misconception, Number
from course.checks.question import Question
from course.checks.variants import Variants
from course.models.occupancy import occupancy

__all__ = ["QUESTION", "VARIANTS"]

_ON = "a100-80gb"


def _question(threads: int, before_registers: int, after_registers: int) -> Question:
    """Blocks of so many threads, and registers of a thread before and after the change."""
    before, after = (occupancy(_ON, threads, registers) for registers in (before_registers, after_registers))
    sm = before.limits
    warps = threads // sm.lanes_per_warp
    blocks_before, blocks_after = int(before.blocks_per_sm), int(after.blocks_per_sm)
    by_division = sm.registers_per_sm / (threads * before_registers)
    half = max(
        registers for registers in range(1, sm.registers_per_thread + 1)
        if occupancy(_ON, threads, registers).occupancy >= 0.5
    )  # fmt: skip
    return Question(
        name="occupancy/q6",
        statement=(
            f"An autotuner changed a matrix product on an A100: instead of {before_registers} registers, a thread now "
            f"has {after_registers}. A block still has {threads} threads, and registers are what limits the blocks. "
            "The kernel became 12 % faster."
        ),
        parts=(
            Number(
                name="blocks_before",
                points=0.5,
                asks="blocks on an SM before the change",
                unit="blocks",
                expected=blocks_before,
                hint="How many warps find registers? How many blocks do these warps make?",
                misconceptions=(
                    Misconception(by_division, "There are no broken blocks: round down."),
                    Misconception(blocks_before + 1, "So many blocks would need more registers than there are."),
                    Misconception(sm.warps_per_sm // warps, "The warp slots would allow this. The registers do not."),
                    Misconception(blocks_before * warps, "These are warps. Asked are blocks."),
                    Misconception(sm.registers_per_sm // before_registers, "These are threads. Asked are blocks."),
                ),
            ),
            Number(
                name="blocks_after",
                points=0.5,
                asks="blocks on an SM after it",
                unit="blocks",
                expected=blocks_after,
                hint="How many warps find registers? How many blocks do these warps make?",
                misconceptions=(
                    Misconception(
                        sm.registers_per_sm / (threads * after_registers), "There are no broken blocks: round down."
                    ),
                    Misconception(blocks_after + 1, "So many blocks would need more registers than there are."),
                    Misconception(blocks_before, "This is as before. Each block now takes more registers."),
                    Misconception(sm.warps_per_sm // warps, "The warp slots would allow this. The registers do not."),
                    Misconception(blocks_after * warps, "These are warps. Asked are blocks."),
                ),
            ),
            Number(
                name="occupancy_before",
                points=0.5,
                asks="occupancy before",
                expected=float(before.occupancy),
                fraction=True,
                hint="Resident warps, divided by warp slots.",
                misconceptions=(
                    Misconception(1.0, "Are all warp slots taken?"),
                    Misconception(blocks_before / sm.blocks_per_sm, "These are block slots. Occupancy counts warps."),
                    Misconception(blocks_before * warps, "These are the resident warps. Divide by the warp slots."),
                    Misconception(blocks_before / sm.warps_per_sm, "A block has more than one warp."),
                    Misconception(by_division * warps / sm.warps_per_sm, "There are no broken blocks: round down."),
                ),
            ),
            Number(
                name="occupancy_after",
                points=0.5,
                asks="occupancy after",
                expected=float(after.occupancy),
                fraction=True,
                hint="Resident warps, divided by warp slots.",
                misconceptions=(
                    Misconception(0.5, "Half of the slots would take another block. Is there room for its registers?"),
                    Misconception(float(before.occupancy), "This is as before. Fewer blocks are resident now."),
                    Misconception(blocks_after / sm.blocks_per_sm, "These are block slots. Occupancy counts warps."),
                    Misconception(blocks_after * warps, "These are the resident warps. Divide by the warp slots."),
                    Misconception(
                        float(before.occupancy) * before_registers / after_registers,
                        "This scales with the registers. Blocks come and go as a whole.",
                    ),
                ),
            ),
            Number(
                name="half",
                points=1,
                asks="the most registers of a thread with which half of the warp slots stay taken",
                unit="registers",
                expected=half,
                hint="Half of the warp slots: how many registers are there for each of their lanes?",
                misconceptions=(
                    Misconception(after_registers, "With these registers the blocks are too few, as you found above."),
                    Misconception(
                        after_registers - 1, "Warps get whole units of registers: this is as much as before."
                    ),
                    Misconception(half + 1, "One register too many: a warp gets a whole unit more."),
                    Misconception(half // 2, "With these, all warp slots are taken."),
                    Misconception(2 * half, "These registers are too many. Do not count lanes twice."),
                    Misconception(
                        sm.registers_per_sm // blocks_before // threads,
                        "This divides by the blocks of before. Half of the warp slots are fewer.",
                    ),
                ),
            ),
            ChoiceSet(
                name="explanations",
                points=1,
                asks="everything that can explain why it became faster",
                options={
                    "more in flight": "each thread has more independent work on its way",
                    "fewer loads": "values wait in registers, so they are loaded less often",
                    "already hidden": "the warps that are left hide the latency as well as more warps did",
                    "more warps": "more warps are resident",
                    "spilled": "the compiler moved registers to local memory",
                    "higher peak": "the card can do more FLOP in a second with fewer warps",
                },
                expected=frozenset({"more in flight", "fewer loads", "already hidden"}),
                hint="What can a thread do with its new registers? And how many warps does it take to hide latency?",
                misconceptions=(
                    Misconception("more warps", "Compare the blocks before and after."),
                    Misconception("spilled", "Spilling happens when registers are too few, and it costs time."),
                    Misconception("higher peak", "The arithmetic units do not care who feeds them: their peak stays."),
                ),
            ),
        ),
    )


VARIANTS = Variants(
    _question,
    (
        (256, 40, 72), (256, 48, 72), (256, 40, 96), (256, 48, 96),
        (128, 40, 88), (128, 48, 88), (128, 56, 80), (128, 56, 96),
    ),
)  # fmt: skip
"""Threads of a block, registers of a thread before and after."""
QUESTION = VARIANTS.published
