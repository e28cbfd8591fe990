"""Blocks placed on an SM one by one, until something runs out: the occupancy rules without any formula."""

from __future__ import annotations

from course.cards import LIMITS


def placed(capability, threads, registers, shared):
    """Blocks that each resource alone would hold; None for a resource that does not limit them."""
    sm = LIMITS[capability]
    warps = len(range(0, threads, 32))
    registers_of_warp = _whole_units(32 * registers, 256)
    shared_of_block = _whole_units(shared + sm.shared_reserved_bytes_per_block, sm.shared_unit_bytes)
    return {
        "warps": _until_full(sm.warps_per_sm, warps),
        "registers": _blocks_by_registers(sm, warps, registers_of_warp),
        "shared": _until_full(sm.shared_bytes_per_sm, shared_of_block) if shared_of_block else None,
        "blocks": sm.blocks_per_sm,
        "barriers": sm.barriers_per_sm,
    }


def _blocks_by_registers(sm, warps, registers_of_warp):
    if not registers_of_warp:
        return None
    # The driver checks a block as if its warps filled the four partitions evenly.
    padded = warps
    while padded % 4:
        padded += 1
    if padded * registers_of_warp > sm.registers_per_block:
        return 0
    room = [_until_full(sm.registers_per_sm // 4, registers_of_warp) for _partition in range(4)]
    return _until_full(sum(room), warps)


def _until_full(room, size):
    count = 0
    while room >= size:
        room, count = room - size, count + 1
    return count


def _whole_units(amount, unit):
    given = 0
    while given < amount:
        given += unit
    return given
