"""Typical mistakes in the exercise of chapter `occupancy` that is a function."""

from __future__ import annotations

from tests.support.mistakes.wrong import Wrong

__all__ = ["WRONG"]

WRONG: dict[str, dict[str, Wrong]] = {
    "occupancy/blocks_per_sm": {
        "block slots forgotten": Wrong(("warps, sm['block_slots'], fed", "warps, fed"), "block slots", "so many block"),
        "warp slots forgotten": Wrong(("[sm['warp_slots'] // warps, ", "["), "warp slots", "one slot for every warp"),
        "partly full warps lost": Wrong(("-(-threads // 32)", "max(1, threads // 32)"), "warp slots", "partly full"),
        "too many threads": Wrong(("return 0", "pass"), "too much", "more threads than it may have"),
        "registers one by one": Wrong(
            ("-(-registers * 32 // sm['register_unit']) * sm['register_unit']", "registers * 32"),
            "whole units", "whole units of registers",
        ),
        "units rounded down": Wrong(
            ("-(-registers * 32 // sm['register_unit'])", "(registers * 32 // sm['register_unit'])"),
            "whole units", "whole units of registers",
        ),
        "one store of registers": Wrong(
            ("sm['registers'] // sm['partitions'] // per_warp * sm['partitions']", "sm['registers'] // per_warp"),
            "whole units", "from one partition",
        ),
        "one partition only": Wrong(("per_warp * sm['partitions']", "per_warp"), "registers", "all partitions feed"),
        "reserved part forgotten": Wrong(
            ("(shared + sm['shared_reserved'])", "shared"), "shared memory", "add the reserved part"
        ),
        "shared memory byte by byte": Wrong(
            ("-(-(shared + sm['shared_reserved']) // sm['shared_unit']) * sm['shared_unit']",
             "shared + sm['shared_reserved']"),
            "shared memory", "whole units",
        ),
        "no shared memory": Wrong(("if taken > 0:", "if True:"), "everything together", "not use shared memory"),
        "the largest, not the smallest": Wrong(("return min(blocks)", "return max(blocks)"), "registers", "partition"),
        "warps, not blocks": Wrong(("return min(blocks)", "return min(blocks) * warps"), "registers", "partition"),
    },
}  # fmt: skip
