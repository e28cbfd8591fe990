"""Practice for the chapter `occupancy`, auto-checked but not graded, with worked answers."""

from __future__ import annotations

from course.cards import limits
from course.checks.parts import Choice, Misconception, Number
from course.checks.question import Question
from course.models.occupancy import carveout_bytes, launch_bounds, occupancy

__all__ = ["QUESTIONS"]

_A100, _H200 = limits("A100 80GB"), limits("H200")
_LANES = _A100.lanes_per_warp

# p1: as many registers as a thread can have --------------------------------------------------------

_most = _A100.registers_per_thread
_small, _large = occupancy(_A100, 32, _most), occupancy(_A100, 256, _most)
_unit_registers = int(_small.registers_per_block.item())
_without_partitions = _A100.registers_per_sm // (_most * _LANES)

P1 = Question(
    name="occupancy/p1",
    statement="On an A100, each thread of a kernel has 255 registers, the most there can be. It uses no shared memory.",
    parts=(
        Number(
            name="small_blocks",
            points=1,
            asks="resident blocks of 32 threads",
            unit="blocks",
            expected=int(_small.blocks_per_sm),
            hint="A block is one warp. How many warps do the registers of one partition feed?",
            misconceptions=(
                Misconception(_A100.blocks_per_sm, "The block slots would allow this. The registers do not."),
                Misconception(_A100.warps_per_sm, "The warp slots would allow this. The registers do not."),
                Misconception(
                    _A100.registers_per_sm // _A100.partitions_per_sm // _unit_registers, "This is one partition."
                ),
            ),
        ),
        Number(
            name="large_blocks",
            points=1,
            asks="resident blocks of 256 threads",
            unit="blocks",
            expected=int(_large.blocks_per_sm),
            hint="The same warps as before. How many blocks do they make?",
            misconceptions=(
                Misconception(int(_small.blocks_per_sm), "This counts warps. A block now has several."),
                Misconception(0, "The warps that fit are just enough for something."),
                Misconception(_A100.blocks_per_sm, "The block slots would allow this. The registers do not."),
            ),
        ),
        Number(
            name="occupancy",
            points=1,
            asks="occupancy, the same for both",
            expected=float(_small.occupancy),
            fraction=True,
            hint="Resident warps, divided by warp slots.",
            misconceptions=(
                Misconception(
                    float(_small.blocks_per_sm) / _A100.blocks_per_sm, "These are block slots. Occupancy counts warps."
                ),
                Misconception(1 / _A100.warps_per_sm, "More than one warp is resident."),
                Misconception(1.0, "All slots are taken only if the registers suffice for all of them."),
            ),
        ),
    ),
    worked=(
        f"{_most} × {_LANES} = {_most * _LANES} registers for a warp, in whole units of {_A100.registers_unit}: "
        f"{_unit_registers}. A partition has {_A100.registers_per_sm // _A100.partitions_per_sm} registers, so it "
        f"feeds {_A100.registers_per_sm // _A100.partitions_per_sm // _unit_registers} warps, and the SM "
        f"**{int(_small.warps_per_sm)}**. These are **{int(_small.blocks_per_sm)}** blocks of one warp, or "
        f"**{int(_large.blocks_per_sm)}** block of eight, and {int(_small.warps_per_sm)} / {_A100.warps_per_sm} = "
        f"**{float(_small.occupancy):g}**. Blocks of 288 threads could not be launched at all."
    ),
)

# p2: small blocks ----------------------------------------------------------------------------------

_warp_blocks = occupancy(_A100, 32, 32)
_fills = next(t for t in range(32, 1025, 32) if occupancy(_A100, t, 32).occupancy == 1)

P2 = Question(
    name="occupancy/p2",
    statement=(
        "A kernel with 32 registers and no shared memory runs on an A100. How many of its blocks are resident, and how "
        "small may a block be?"
    ),
    parts=(
        Number(
            name="blocks",
            points=1,
            asks="resident blocks of 32 threads",
            unit="blocks",
            expected=int(_warp_blocks.blocks_per_sm),
            hint="A block takes a slot, however small it is.",
            misconceptions=(
                Misconception(_A100.warps_per_sm, "The warp slots and the registers would allow this."),
                Misconception(_A100.blocks_per_sm // 2, "An SM of this card has more block slots."),
                Misconception(_A100.threads_per_sm, "These are threads."),
            ),
        ),
        Number(
            name="occupancy",
            points=1,
            asks="occupancy",
            expected=float(_warp_blocks.occupancy),
            fraction=True,
            hint="Resident warps, divided by warp slots.",
            misconceptions=(
                Misconception(1.0, "All block slots are taken. Are all warp slots?"),
                Misconception(float(_warp_blocks.occupancy) / 2, "Count the warps of a block again."),
                Misconception(1 / _A100.warps_per_sm, "More than one warp is resident."),
            ),
        ),
        Number(
            name="threads",
            points=1,
            asks="threads of the smallest block, a multiple of 32, with which all warp slots can be taken",
            unit="threads",
            expected=_fills,
            hint="There are so many block slots. How many warps must each block bring?",
            misconceptions=(
                Misconception(32, "With these blocks, half of the slots stayed empty."),
                Misconception(256, "This works, but smaller blocks do, too."),
                Misconception(2, "These are warps. How many threads are they?"),
                Misconception(128, "This works, but smaller blocks do, too. Count the slots."),
            ),
        ),
    ),
    worked=(
        f"An SM of the A100 has {_A100.blocks_per_sm} block slots, so **{int(_warp_blocks.blocks_per_sm)}** blocks of "
        f"one warp are resident: {int(_warp_blocks.warps_per_sm)} of {_A100.warps_per_sm} warps, "
        f"**{float(_warp_blocks.occupancy):g}**. To take {_A100.warps_per_sm} warp slots with {_A100.blocks_per_sm} "
        f"blocks, each must bring {_fills // _LANES} warps, which are **{_fills}** threads."
    ),
)

# p3: the shared memory of the worked budget ---------------------------------------------------------

_asked = 2 * 16 * 17 * 4
_PERCENT = 39
_pool = int(carveout_bytes(_A100, _PERCENT))
_budget = occupancy(_A100, 256, 40, _asked, carveout_percent=_PERCENT)
_taken = int(_budget.shared_bytes_per_block)

P3 = Question(
    name="occupancy/p3",
    statement=(
        "A block keeps two tiles [16][17] of 4-byte floats. The carve-out of this A100 is 64 KiB. How many of these "
        "blocks does shared memory alone allow?"
    ),
    parts=(
        Number(
            name="asked_bytes",
            points=1,
            asks="bytes that a block asks for",
            unit="bytes",
            expected=_asked,
            hint="Two tiles, their rows, their columns, and the bytes of a float.",
            misconceptions=(
                Misconception(_asked // 2, "This is one tile."),
                Misconception(_asked // 4, "These are floats."),
                Misconception(2 * 16 * 16 * 4, "The rows have a pad."),
            ),
        ),
        Number(
            name="taken_bytes",
            points=1,
            asks="bytes that the SM takes for it",
            unit="bytes",
            expected=_taken,
            hint="There is a reserved part, and whole units are handed out.",
            misconceptions=(
                Misconception(_asked, "The reserved part is missing."),
                Misconception(_taken + _A100.shared_unit_bytes, "This is one unit more than needed."),
                Misconception(
                    _taken + _A100.shared_reserved_bytes_per_block,
                    "The part is reserved once for each block, not for each tile.",
                ),
            ),
        ),
        Number(
            name="blocks",
            points=1,
            asks="blocks that the carve-out holds",
            unit="blocks",
            expected=int(_budget.blocks_by_shared),
            hint="The carve-out, divided by what the SM takes for a block.",
            misconceptions=(
                Misconception(_pool // _asked, "This divides by what a block asks for. The SM takes more for it."),
                Misconception(int(_budget.blocks_per_sm), "The registers allow this. Asked is shared memory alone."),
                Misconception(_A100.shared_bytes_per_sm // _taken, "This is the largest carve-out."),
                Misconception(_pool / _taken, "There are no broken blocks: round down."),
            ),
        ),
    ),
    worked=(
        f"2 × 16 × 17 × 4 = **{_asked}** bytes. With the reserved {_A100.shared_reserved_bytes_per_block} these are "
        f"{_asked + _A100.shared_reserved_bytes_per_block}, in whole units of {_A100.shared_unit_bytes}: **{_taken}**. "
        f"The carve-out holds {_pool} / {_taken}, so **{int(_budget.blocks_by_shared)}** blocks. Plain division by "
        f"{_asked} would say {_pool // _asked}. Here it does not matter, because with 40 registers only "
        f"{int(_budget.blocks_per_sm)} blocks of 256 threads fit. With other kernels it does."
    ),
)

# p4: launch bounds ---------------------------------------------------------------------------------

_five, _eight = (launch_bounds(_H200, 256, blocks, _H200.registers_per_thread) for blocks in (5, 8))
_plain = _H200.registers_per_sm // (5 * 256)

P4 = Question(
    name="occupancy/p4",
    statement="Launch bounds: blocks have 256 threads, on an H200. How many registers may a thread have at most?",
    parts=(
        Number(
            name="five",
            points=1,
            asks="registers with launch_bounds=(256, 5)",
            unit="registers",
            expected=_five.registers_allowed,
            hint="How many warps must each partition feed? A warp gets whole units of registers.",
            misconceptions=(
                Misconception(_plain, "This divides the registers by the threads. Warps get whole units."),
                Misconception(_five.registers_allowed + 8, "A unit too many: one warp would find no registers."),
                Misconception(_eight.registers_allowed, "This is for full warp slots."),
                Misconception(_H200.registers_per_thread, "So many leave room for one block."),
            ),
        ),
        Number(
            name="eight",
            points=1,
            asks="registers with launch_bounds=(256, 8)",
            unit="registers",
            expected=_eight.registers_allowed,
            hint="How many warps are these, and how many registers are there for each?",
            misconceptions=(
                Misconception(_five.registers_allowed, "This leaves room for fewer blocks."),
                Misconception(2 * _eight.registers_allowed, "This is for half of the warp slots."),
                Misconception(_H200.registers_per_sm // 256, "These are the registers of all lanes of eight warps."),
            ),
        ),
    ),
    worked=(
        f"Five blocks of eight warps are {5 * 8} warps, {5 * 8 // _H200.partitions_per_sm} for each partition with its "
        f"{_H200.registers_per_sm // _H200.partitions_per_sm} registers. So a warp gets "
        f"{_H200.registers_per_sm // _H200.partitions_per_sm // (5 * 8 // _H200.partitions_per_sm)} at most, in whole "
        f"units {_five.registers_allowed * _LANES}, and a thread **{_five.registers_allowed}**. Plain division says "
        f"{_plain}. Eight blocks take all warp slots, and leave **{_eight.registers_allowed}** registers for a thread."
    ),
)

# p5: which resource, and how much of it must go? -----------------------------------------------------

_TILE = 64 * 65 * 4
_tiled = occupancy(_H200, 256, 96, _TILE)
_three = max(r for r in range(1, 256) if int(occupancy(_H200, 256, r, _TILE).blocks_per_sm) >= 3)

P5 = Question(
    name="occupancy/p5",
    statement=(
        "On an H200, a block has 256 threads of 96 registers, and one tile [64][65] of 4-byte floats. You would like "
        "to have three blocks resident."
    ),
    parts=(
        Number(
            name="blocks",
            points=1,
            asks="resident blocks now",
            unit="blocks",
            expected=int(_tiled.blocks_per_sm),
            hint="Count the blocks by registers and by shared memory.",
            misconceptions=(
                Misconception(int(_tiled.blocks_by_shared), "Shared memory would allow this. What about registers?"),
                Misconception(int(_tiled.blocks_by_warps), "The warp slots would allow this. What about registers?"),
                Misconception(int(_tiled.warps_per_sm), "These are warps."),
            ),
        ),
        Choice(
            name="limiter",
            points=1,
            asks="what stops the third block",
            options={"registers": "", "shared memory": "", "warp slots": "", "block slots": ""},
            expected="registers",
            hint="Find the blocks that each limit allows. The smallest number decides.",
            misconceptions=(
                Misconception("shared memory", "The tile is large, but the SM holds many of them."),
                Misconception("warp slots", "Three of these blocks have far fewer warps than there are slots."),
                Misconception("block slots", "An SM has many more block slots."),
            ),
        ),
        Number(
            name="registers",
            points=1,
            asks="the most registers of a thread with which three blocks fit",
            unit="registers",
            expected=_three,
            hint="How many warps must each partition feed then?",
            misconceptions=(
                Misconception(
                    _H200.registers_per_sm // (3 * 256), "This divides by the threads. A warp gets whole units."
                ),
                Misconception(64, "This is enough for a fourth block."),
                Misconception(_three + 8, "A unit too many: one warp would find no registers."),
            ),
        ),
    ),
    worked=(
        f"Shared memory: {_TILE} + {_H200.shared_reserved_bytes_per_block} bytes, {int(_tiled.blocks_by_shared)} "
        f"blocks. Warp slots: {int(_tiled.blocks_by_warps)}. Registers: 96 × {_LANES} = {96 * _LANES} for a warp, "
        f"{_H200.registers_per_sm // 4 // (96 * _LANES)} warps in each partition, "
        f"{_H200.registers_per_sm // 4 // (96 * _LANES) * 4} in all, **{int(_tiled.blocks_per_sm)}** blocks: "
        f"**registers** decide. Three blocks are 24 warps, 6 in each partition; each gets "
        f"{_H200.registers_per_sm // 4 // 6} registers at most, in whole units {_three * _LANES}, so a thread "
        f"**{_three}**. A smaller tile would not help at all."
    ),
)

# p6: a regression after an unroll --------------------------------------------------------------------

_CAUSES = {
    "fewer warps": "too few warps are left to hide latency",
    "spills": "registers went to local memory, which costs loads and stores",
    "coalescing": "the new order of the accesses touches more sectors",
}
_before, _after = occupancy(_A100, 256, 40), occupancy(_A100, 256, 72)
_SENTENCES = {
    "fewer warps": "Compare the registers before and after: are fewer warps resident?",
    "spills": "Look at the local memory.",
    "coalescing": "Look at the sectors of a request.",
}
_CASES = {"first": "fewer warps", "second": "spills", "third": "coalescing"}


def _cause(name: str, expected: str) -> Choice:
    return Choice(
        name=name,
        points=1,
        asks=f"why the {name} kernel became slower",
        options=_CAUSES,
        expected=expected,
        hint="Which number changed?",
        misconceptions=tuple(
            Misconception(cause, _SENTENCES[cause]) for cause in _CAUSES if cause != expected
        ),
    )  # fmt: skip


P6 = Question(
    name="occupancy/p6",
    statement=(
        "Three kernels became slower after a loop was unrolled. Blocks have 256 threads, on an A100. First: registers "
        "40 to 72, local memory 0 B to 0 B, sectors per request 4 to 4. Second: launch bounds hold the registers at "
        "32, local memory 0 B to 104 B, sectors per request 4 to 4. Third: registers 40 to 40, local memory 0 B to "
        "0 B, sectors per request 4 to 16."
    ),
    parts=tuple(_cause(name, expected) for name, expected in _CASES.items()),
    worked=(
        f"First: more registers, {int(_before.blocks_per_sm)} blocks become {int(_after.blocks_per_sm)}, and the "
        f"occupancy goes from {float(_before.occupancy):.0%} to {float(_after.occupancy):.1%}. Nothing else changed, "
        "so **fewer warps** is the only suspect left. Unroll less, or give each thread more loads on their way. "
        "Second: the registers may not grow, so the compiler put values into local memory: **spills**. Allow more "
        "registers, and look whether fewer warps hurt at all. Third: nothing about occupancy changed. The order of "
        "the accesses did: **coalescing**. Neighbouring lanes no longer take neighbouring elements."
    ),
)

QUESTIONS = (P1, P2, P3, P4, P5, P6)
