"""Question 6: more registers, fewer warps, and still faster."""

from __future__ import annotations

from course.checks.parts import ChoiceSet, Misconception, Number
from course.checks.question import Question
from course.models.occupancy import occupancy

__all__ = ["QUESTION"]

_ON, _THREADS, _BEFORE, _AFTER = "a100-80gb", 256, 40, 72
_before, _after = (occupancy(_ON, _THREADS, registers) for registers in (_BEFORE, _AFTER))
_sm = _before.limits
_warps = _THREADS // _sm.lanes_per_warp
_blocks_before, _blocks_after = int(_before.blocks_per_sm), int(_after.blocks_per_sm)
_by_division = _sm.registers_per_sm / (_THREADS * _BEFORE)
_half = max(
    registers for registers in range(1, _sm.registers_per_thread + 1)
    if occupancy(_ON, _THREADS, registers).occupancy >= 0.5
)  # fmt: skip

QUESTION = Question(
    name="occupancy/q6",
    statement=(
        "An autotuner changed a matrix product on an A100: instead of 40 registers, a thread now has 72. A block still "
        "has 256 threads, and registers are what limits the blocks. The kernel became 12 % faster."
    ),
    parts=(
        Number(
            name="blocks_before",
            points=0.5,
            asks="blocks on an SM before the change",
            unit="blocks",
            expected=_blocks_before,
            hint="How many warps find registers? How many blocks do these warps make?",
            misconceptions=(
                Misconception(_by_division, "There are no broken blocks: round down."),
                Misconception(_blocks_before + 1, "So many blocks would need more registers than there are."),
                Misconception(_sm.warps_per_sm // _warps, "The warp slots would allow this. The registers do not."),
                Misconception(_blocks_before * _warps, "These are warps. Asked are blocks."),
                Misconception(_sm.registers_per_sm // _BEFORE, "These are threads. Asked are blocks."),
            ),
        ),
        Number(
            name="blocks_after",
            points=0.5,
            asks="blocks on an SM after it",
            unit="blocks",
            expected=_blocks_after,
            hint="How many warps find registers? How many blocks do these warps make?",
            misconceptions=(
                Misconception(_sm.registers_per_sm / (_THREADS * _AFTER), "There are no broken blocks: round down."),
                Misconception(_blocks_after + 1, "So many blocks would need more registers than there are."),
                Misconception(_blocks_before, "This is as before. Each block now takes more registers."),
                Misconception(_sm.warps_per_sm // _warps, "The warp slots would allow this. The registers do not."),
                Misconception(_blocks_after * _warps, "These are warps. Asked are blocks."),
            ),
        ),
        Number(
            name="occupancy_before",
            points=0.5,
            asks="occupancy before",
            expected=float(_before.occupancy),
            fraction=True,
            hint="Resident warps, divided by warp slots.",
            misconceptions=(
                Misconception(1.0, "Are all warp slots taken?"),
                Misconception(_blocks_before / _sm.blocks_per_sm, "These are block slots. Occupancy counts warps."),
                Misconception(_blocks_before * _warps, "These are the resident warps. Divide by the warp slots."),
                Misconception(_blocks_before / _sm.warps_per_sm, "A block has more than one warp."),
                Misconception(_by_division * _warps / _sm.warps_per_sm, "There are no broken blocks: round down."),
            ),
        ),
        Number(
            name="occupancy_after",
            points=0.5,
            asks="occupancy after",
            expected=float(_after.occupancy),
            fraction=True,
            hint="Resident warps, divided by warp slots.",
            misconceptions=(
                Misconception(0.5, "Half of the slots would take another block. Is there room for its registers?"),
                Misconception(float(_before.occupancy), "This is as before. Fewer blocks are resident now."),
                Misconception(_blocks_after / _sm.blocks_per_sm, "These are block slots. Occupancy counts warps."),
                Misconception(_blocks_after * _warps, "These are the resident warps. Divide by the warp slots."),
                Misconception(
                    float(_before.occupancy) * _BEFORE / _AFTER,
                    "This scales with the registers. Blocks come and go as a whole.",
                ),
            ),
        ),
        Number(
            name="half",
            points=1,
            asks="the most registers of a thread with which half of the warp slots stay taken",
            unit="registers",
            expected=_half,
            hint="Half of the warp slots: how many registers are there for each of their lanes?",
            misconceptions=(
                Misconception(_AFTER, "With these registers the blocks are too few, as you found above."),
                Misconception(_AFTER - 1, "Warps get whole units of registers: this is as much as before."),
                Misconception(_half + 1, "One register too many: a warp gets a whole unit more."),
                Misconception(_half // 2, "With these, all warp slots are taken."),
                Misconception(2 * _half, "These registers are too many. Do not count lanes twice."),
                Misconception(
                    _sm.registers_per_sm // _blocks_before // _THREADS,
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
