"""Exercise (a) of the chapter `occupancy`: a function that counts the blocks of a launch on one SM."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

from course.cards import LIMITS, SmLimits, limits
from course.checks.function import Arguments, FunctionCheck, Group, WrongModel
from course.models.occupancy import Limiter, occupancy

__all__ = ["EXERCISE", "described"]

Sm = dict[str, int]
"""What an SM offers, as the function gets it."""

_RANDOM_CASES = 6
"""Random cases of each group."""
_LANES = 32
_CARDS = ("T4", "A100 80GB", "RTX 4090", "H200")


def described(of: str | SmLimits) -> Sm:
    """An SM as the exercise describes it."""
    sm = limits(of)
    return {
        "warp_slots": sm.warps_per_sm,
        "block_slots": sm.blocks_per_sm,
        "threads_per_block": sm.threads_per_block,
        "registers": sm.registers_per_sm,
        "register_unit": sm.registers_unit,
        "partitions": sm.partitions_per_sm,
        "shared_bytes": sm.shared_bytes_per_sm,
        "shared_unit": sm.shared_unit_bytes,
        "shared_reserved": sm.shared_reserved_bytes_per_block,
    }


def _limits(sm: Sm) -> SmLimits:
    """The SM of a description, for the model."""
    return replace(
        limits("8.0"),
        warps_per_sm=sm["warp_slots"],
        blocks_per_sm=sm["block_slots"],
        threads_per_block=sm["threads_per_block"],
        registers_per_sm=sm["registers"],
        registers_per_block=sm["registers"],
        registers_unit=sm["register_unit"],
        partitions_per_sm=sm["partitions"],
        shared_bytes_per_sm=sm["shared_bytes"],
        shared_bytes_per_block_opt_in=sm["shared_bytes"] - sm["shared_reserved"],
        shared_unit_bytes=sm["shared_unit"],
        shared_reserved_bytes_per_block=sm["shared_reserved"],
        carveouts_kib=(sm["shared_bytes"] // 1024,),
    )


def _reference(threads: int, registers: int, shared: int, sm: Sm) -> int:
    return int(occupancy(_limits(sm), threads, registers, shared).blocks_per_sm)


# Cases -------------------------------------------------------------------------------------------


def _sms(generator: random.Random) -> Sm:
    """A real SM, or one that does not exist, so that no figure can be known by heart."""
    if generator.random() < 0.6:
        return described(generator.choice(sorted(LIMITS)))
    reserved = generator.choice((0, 512, 1024, 2048))
    return {
        "warp_slots": generator.choice((24, 40, 56, 80)),
        "block_slots": generator.choice((8, 12, 20, 28)),
        "threads_per_block": generator.choice((512, 768, 1024, 1536)),
        "registers": generator.choice((32768, 49152, 65536, 131072)),
        "register_unit": generator.choice((128, 256, 512)),
        "partitions": generator.choice((1, 2, 4)),
        "shared_bytes": 1024 * generator.choice((48, 80, 112, 144, 192)),
        "shared_unit": generator.choice((128, 256, 512)),
        "shared_reserved": reserved,
    }


def _launch(generator: random.Random, sm: Sm) -> Arguments:
    threads = generator.choice((generator.randint(1, sm["threads_per_block"]), 32 * generator.randint(1, 24)))
    shared = generator.choice((0, generator.randint(1, sm["shared_bytes"] // 2), generator.randint(1, 8192)))
    return min(threads, sm["threads_per_block"]), generator.randint(16, 255), shared, sm


def _limited_by(limiter: Limiter) -> Callable[[random.Random], list[Arguments]]:
    """Random launches that this limit stops, with no other limit as low."""

    def more(generator: random.Random) -> list[Arguments]:
        cases: list[Arguments] = []
        while len(cases) < _RANDOM_CASES:
            case = _launch(generator, _sms(generator))
            found = occupancy(_limits(case[3]), *case[:3])
            if found.blocks_per_sm and found.limiters == (limiter,):
                cases.append(case)
        return cases

    return more


def _block_slots(generator: random.Random) -> list[Arguments]:
    """Small blocks that need little."""
    cases: list[Arguments] = []
    while len(cases) < _RANDOM_CASES:
        case = (generator.randint(1, 64), generator.randint(16, 40), generator.choice((0, 0, 256)), _sms(generator))
        if occupancy(_limits(case[3]), *case[:3]).limiters == ("blocks",):
            cases.append(case)
    return cases


def _sensitive(draw: Callable[[random.Random], Arguments], *rules: str) -> Callable[[random.Random], list[Arguments]]:
    """Random launches in which leaving out a rule changes the answer; each of the rules has its turn."""

    def more(generator: random.Random) -> list[Arguments]:
        cases: list[Arguments] = []
        while len(cases) < _RANDOM_CASES:
            case, rule = draw(generator), rules[len(cases) % len(rules)]
            if _blocks(*case) not in (0, _blocks(*case, **{rule: False})):  # type: ignore[arg-type]
                cases.append(case)
        return cases

    return more


def _many_registers(generator: random.Random) -> Arguments:
    """A launch that registers limit, often in no whole units."""
    sm = _sms(generator)
    threads, registers, _, _ = _launch(generator, sm)
    return threads, registers, 0, sm


def _much_shared(generator: random.Random) -> Arguments:
    """A launch whose blocks fill shared memory, or nearly so."""
    sm, blocks = _sms(generator), generator.randint(1, 12)
    rest = generator.randint(0, 2 * sm["shared_unit"]) - sm["shared_unit"]
    shared = sm["shared_bytes"] // blocks - generator.choice((0, sm["shared_reserved"])) + rest
    return 32 * generator.randint(1, 3), 32, max(0, min(shared, sm["shared_bytes"] - sm["shared_reserved"])), sm


def _too_much(generator: random.Random) -> list[Arguments]:
    """Blocks with too many threads, too many registers or too much shared memory."""
    cases: list[Arguments] = []
    for _ in range(_RANDOM_CASES // 3):
        sm = _sms(generator)
        cases.append((sm["threads_per_block"] + generator.randint(1, 64), 16, 0, sm))
        cases.append((generator.randint(289, 1024), 255, 0, described(generator.choice(sorted(LIMITS)))))
        free = sm["shared_bytes"] - sm["shared_reserved"]
        cases.append((generator.randint(1, 256), 32, free + generator.randint(1, 200), sm))
    return cases


def _anything(generator: random.Random) -> list[Arguments]:
    return [_launch(generator, _sms(generator)) for _ in range(3 * _RANDOM_CASES)]


# Wrong models ------------------------------------------------------------------------------------


def _blocks(
    threads: int,
    registers: int,
    shared: int,
    sm: Sm,
    *,
    whole_warps: bool = True,
    largest_block: bool = True,
    register_units: bool = True,
    partitions: bool = True,
    reserved: bool = True,
    shared_units: bool = True,
    leave_out: str = "",
) -> int:
    """The rules, each of which can be left out."""
    if largest_block and threads > sm["threads_per_block"]:
        return 0
    warps = -(-threads // _LANES)
    by = {"warps": sm["warp_slots"] // warps, "slots": sm["block_slots"]}
    lanes = warps * _LANES if whole_warps else threads
    if not whole_warps:
        by["warps"] = sm["warp_slots"] * _LANES // threads
    if register_units or partitions:
        unit = sm["register_unit"] if register_units else 1
        per_warp = -(-registers * _LANES // unit) * unit
        parts = sm["partitions"] if partitions else 1
        by["registers"] = sm["registers"] // parts // per_warp * parts * _LANES // lanes
    else:
        by["registers"] = sm["registers"] // (registers * lanes)
    unit = sm["shared_unit"] if shared_units else 1
    taken = -(-(shared + (sm["shared_reserved"] if reserved else 0)) // unit) * unit
    if taken:
        by["shared"] = sm["shared_bytes"] // taken
    return min(blocks for limit, blocks in by.items() if limit != leave_out)


def _warps(threads: int, registers: int, shared: int, sm: Sm) -> int:
    return _reference(threads, registers, shared, sm) * -(-threads // _LANES)


def _share(threads: int, registers: int, shared: int, sm: Sm) -> float:
    return _warps(threads, registers, shared, sm) / sm["warp_slots"]


def _lacking(**rules: bool | str) -> Callable[..., int]:
    return lambda threads, registers, shared, sm: _blocks(threads, registers, shared, sm, **rules)  # type: ignore[arg-type]


_A100, _T4 = described("A100 80GB"), described("T4")
_H200, _RTX = described("H200"), described("RTX 4090")

EXERCISE = FunctionCheck(
    name="occupancy/blocks_per_sm",
    function="blocks_per_sm",
    statement=(
        "Write `blocks_per_sm(threads, registers, shared, sm)`: how many blocks of a launch does one SM hold at a "
        "time? Return a whole number, and zero when not even one block fits or a block has too many threads. Shared "
        "memory is as large as the SM can make it, and the kernel may use all of it. The answer is that of NVIDIA's "
        "`cudaOccupancyMaxActiveBlocksPerMultiprocessor`."
    ),
    keys={
        "threads": "threads of a block, 1 or more; the last warp of a block may be only partly full",
        "registers": "registers of a thread, 1 to 255",
        "shared": "bytes of shared memory that a block asks for, 0 or more",
        "sm": (
            "dict: warp_slots, block_slots, threads_per_block (the most), registers, register_unit (a warp gets whole "
            "units), partitions (each has its share of the registers), shared_bytes, shared_unit (a block gets whole "
            "units), shared_reserved (bytes that each block takes besides)"
        ),
    },
    reference=_reference,
    groups=(
        Group(
            "warp slots",
            1,
            "Each block takes one slot for every warp. A warp that is only partly full takes a whole slot.",
            ((512, 20, 0, _A100), (200, 24, 0, _H200), (96, 32, 1024, _T4)),
            _limited_by("warps"),
        ),
        Group(
            "registers",
            1,
            "How many warps do the registers of one partition feed, and how many do all partitions feed?",
            ((256, 40, 0, _A100), (256, 64, 2048, _H200), (128, 128, 0, _RTX)),
            _limited_by("registers"),
        ),
        Group(
            "whole units",
            1,
            "A warp takes whole units of registers, and all of them from one partition. What is left over in a "
            "partition is too little for a warp.",
            ((256, 37, 0, _A100), (256, 33, 0, _H200), (160, 80, 0, _A100)),
            _sensitive(_many_registers, "register_units", "partitions"),
        ),
        Group(
            "shared memory",
            1,
            "To what a block asks for, add the reserved part. Then round up to whole units.",
            ((256, 32, 41 * 1024, _A100), (128, 32, 16500, _H200), (64, 32, 7281, _T4)),
            _sensitive(_much_shared, "reserved", "shared_units"),
        ),
        Group(
            "block slots",
            1,
            "These blocks are small. An SM has only so many block slots, however little a block needs.",
            ((32, 32, 0, _A100), (32, 24, 0, _T4), (20, 32, 256, _RTX)),
            _block_slots,
        ),
        Group(
            "too much",
            1,
            "Not even one block fits here, or a block has more threads than it may have. Then no launch is possible.",
            ((1056, 16, 0, _A100), (512, 255, 0, _A100), (128, 32, 64 * 1024 + 1, _T4)),
            _too_much,
        ),
        Group(
            "everything together",
            1,
            "Find the blocks that each limit allows, and take the smallest. A block need not use shared memory at all.",
            ((256, 40, 2176, _A100), (256, 72, 2176, _A100), (1, 255, 0, _T4)),
            _anything,
        ),
    ),
    wrong_models=(
        WrongModel(
            "Your function divides the registers by those that the threads need. Warps get whole units, and each "
            "partition has its own registers.",
            (_lacking(register_units=False, partitions=False),),
        ),
        WrongModel(
            "Your function gives each warp exactly the registers that it needs. It gets whole units.",
            (_lacking(register_units=False),),
        ),
        WrongModel(
            "Your function takes the registers of the SM as one store. Each partition has its share, and what is left "
            "over in one cannot be added to that of another.",
            (_lacking(partitions=False),),
        ),
        WrongModel(
            "Your function forgets the reserved part: each block takes it besides what it asks for.",
            (_lacking(reserved=False),),
        ),
        WrongModel(
            "Your function hands out shared memory byte by byte. A block gets whole units.",
            (_lacking(shared_units=False),),
        ),
        WrongModel(
            "Your function divides the shared memory by what a block asks for. Add the reserved part, and round up to "
            "whole units.",
            (_lacking(shared_units=False, reserved=False),),
        ),
        WrongModel(
            "Your function forgets the block slots: small blocks can be too many, although all else would suffice.",
            (_lacking(leave_out="slots"),),
        ),
        WrongModel("Your function forgets the warp slots.", (_lacking(leave_out="warps"),)),
        WrongModel("Your function forgets the registers.", (_lacking(leave_out="registers"),)),
        WrongModel("Your function forgets the shared memory.", (_lacking(leave_out="shared"),)),
        WrongModel(
            "Your function counts threads where the hardware counts warps. A warp that is only partly full takes a "
            "slot and registers as a full one does.",
            (_lacking(whole_warps=False),),
        ),
        WrongModel(
            "Your function forgets that a block may have only so many threads. A larger one is not launched at all.",
            (_lacking(largest_block=False),),
        ),
        WrongModel(
            "Your function does the three divisions. The units, the partitions, the reserved part and the block slots "
            "are missing.",
            (
                _lacking(register_units=False, partitions=False, shared_units=False, reserved=False, leave_out="slots"),
                _lacking(
                    register_units=False,
                    partitions=False,
                    shared_units=False,
                    reserved=False,
                    leave_out="slots",
                    largest_block=False,
                ),
                _lacking(
                    register_units=False,
                    partitions=False,
                    shared_units=False,
                    reserved=False,
                    leave_out="slots",
                    whole_warps=False,
                    largest_block=False,
                ),
            ),
        ),
        WrongModel("Your function returns warps. Asked are blocks.", (_warps,)),
        WrongModel("Your function returns the occupancy. Asked are blocks.", (_share,)),
    ),
)
