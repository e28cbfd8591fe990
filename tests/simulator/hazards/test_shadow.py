"""The race rule: NumPy and compiled agree, and both agree with the rule written out over Python dictionaries."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from course.simulator.hazards import shadow_kernels, shadow_rules
from course.simulator.hazards.shadow_rules import ATOMIC, LOAD, SAME_INSTRUCTION, STORE, UNINITIALISED

LANES, SITES = 32, 4


class Story:
    """Random instructions and barriers on a few words, told to a `check` function."""

    def __init__(self, seed: int, shared: bool, atomics: bool) -> None:
        rng = np.random.default_rng(seed)
        self.shared = shared
        self.slots = 5 if atomics else 3
        self.block_lanes = LANES * int(rng.integers(1, 4))
        self.rows = 1 if shared else int(rng.integers(1, 4))
        self.words = int(rng.choice([6, self.rows * self.block_lanes]))
        self.events: list[tuple[Any, ...]] = []
        serial, warp_sync = 1, 0
        order = np.zeros(self.rows, np.int64)
        for _ in range(int(rng.integers(2, 14))):
            what = rng.random()
            serial += 1
            if what < 0.15:
                order[rng.random(self.rows) < 0.8] = serial
            elif what < 0.25:
                warp_sync = serial
            else:
                kind = int(rng.choice([LOAD, STORE, ATOMIC] if atomics else [LOAD, STORE]))
                per_lane = int(rng.choice([1, 1, 2]))
                words = rng.integers(0, self.words // per_lane, (self.rows, self.block_lanes)) * per_lane
                if self.words > 6 and rng.random() < 0.8:  # warps in order, as most are
                    warps = rng.permutation(words.size // LANES)[:, np.newaxis] * LANES
                    if rng.random() < 0.7:
                        warps = np.sort(warps, axis=0)
                    words, per_lane = (warps + np.arange(LANES)).reshape(words.shape), 1
                mask = rng.random((self.rows, self.block_lanes)) < rng.choice([0.03, 0.1, 1.0])
                values = rng.integers(0, 2, (self.rows, self.block_lanes, 1)).astype(np.uint8)
                if rng.random() < 0.3:
                    values = np.ones((1, 1, 1), np.uint8)
                self.events.append((kind, per_lane, words, mask, values, serial, order.copy(), warp_sync,
                                    int(rng.integers(0, SITES))))  # fmt: skip

    def tell(self, check: Any) -> list[tuple[int, np.ndarray]]:
        lines = np.zeros((2, 1, -(-self.words // 32)), np.int64)
        state = np.zeros((self.slots, 1, lines.size * 16), np.int64)
        out = []
        for kind, per_lane, words, mask, values, serial, order, warp_sync, site in self.events:
            found = np.zeros((13, SITES, 3), np.int64)
            n = np.arange(self.rows)
            cases = np.stack([n, n, 0 * n, n, 0 * n + 1], axis=1)
            how = np.array([kind, LANES, 64, 2, per_lane, serial, site, True, self.shared])
            blocks = np.stack([n + 7 * (not self.shared), order, 0 * n + warp_sync], axis=1)
            addresses = (64 + 4 * words).astype(np.int64)
            conflicts = check(addresses, mask, cases, state, lines, blocks, how, values, found)
            out.append((conflicts, found))
        return out

    def tell_dictionary(self, last_store_only: bool = False) -> list[set[tuple[int, int, int, int]]]:
        """All conflicts as (row of found, site, block row, lane), from complete histories."""
        history: dict[int, list[tuple[Any, ...]]] = {w: [] for w in range(self.words)}
        out = []
        for kind, per_lane, words, mask, values, serial, order, warp_sync, site in self.events:
            conflicts = set()
            mine = []
            for b, lane in zip(*np.nonzero(mask), strict=True):
                value = int(values[b % len(values), lane % values.shape[1], 0])
                for word in range(words[b, lane], words[b, lane] + per_lane):
                    if self.shared and kind == LOAD and not any(k != LOAD for k, *_ in history[word]):
                        conflicts.add((UNINITIALISED, 0, int(b), int(lane)))
                    same_instruction = [e for w, e in mine if w == word]
                    past = history[word]
                    if last_store_only and same_instruction and kind == STORE:  # the first lane has met the past
                        past = [e for e in past if e[0] != STORE]
                    for k, ob, ol, oserial, osite, ovalue in past + same_instruction:
                        if (ob, ol) == (b, lane) or (k, kind) in ((LOAD, LOAD), (ATOMIC, ATOMIC)):
                            continue
                        same_warp = ob == b and ol // LANES == lane // LANES
                        if oserial == serial:
                            if ovalue == value:
                                continue
                            k = SAME_INSTRUCTION
                        elif same_warp and not self.shared:
                            continue
                        if oserial < (max(order[b], warp_sync) if same_warp else order[b] if ob == b else 0):
                            continue
                        scope = 0 if same_warp else 1 if ob == b else 2
                        conflicts.add((scope * 4 + k, osite, int(b), int(lane)))
                    mine.append((word, (kind, b, lane, serial, site, value)))
            for word, entry in mine:
                if last_store_only and kind == STORE:
                    history[word] = [e for e in history[word] if e[0] != STORE]
                history[word].append(entry)
            out.append(conflicts)
        return out


def keys(found: np.ndarray) -> set[tuple[int, int]]:
    return {(int(k), int(s)) for k, s in zip(*np.nonzero(found[:, :, 0]), strict=True)}


@settings(deadline=None, max_examples=100)
@given(st.integers(0, 10**9), st.booleans(), st.booleans())
def test_numpy_and_compiled_rule_find_the_same(seed: int, shared: bool, atomics: bool) -> None:
    story = Story(seed, shared, atomics)
    for (n, one), (m, other) in zip(story.tell(shadow_rules.check), story.tell(shadow_kernels.check), strict=True):
        assert n == m
        assert np.array_equal(one[:, :, :2], other[:, :, :2])


@settings(deadline=None, max_examples=100)
@given(st.integers(0, 10**9), st.booleans(), st.booleans())
def test_every_conflict_found_is_one(seed: int, shared: bool, atomics: bool) -> None:
    story = Story(seed, shared, atomics)
    for (_, found), expected in zip(story.tell(shadow_kernels.check), story.tell_dictionary(), strict=True):
        for row, site in keys(found):
            if row != UNINITIALISED or any(k == UNINITIALISED for k, *_ in expected):  # atomics read too
                assert (row, site, *divmod(int(found[row, site, 1]), story.block_lanes)) in expected


@settings(deadline=None, max_examples=100)
@given(st.integers(0, 10**9), st.booleans(), st.booleans())
def test_no_access_between_warps_that_conflicts_is_missed(seed: int, shared: bool, atomics: bool) -> None:
    """The other side may be another one: a word remembers few accesses, an instruction's lanes form a chain."""
    story = Story(seed, shared, atomics)
    told = zip(story.tell(shadow_kernels.check), story.tell_dictionary(last_store_only=True), strict=True)
    for (_, found), expected in told:
        if any(4 <= row < 12 for row, *_ in expected):
            assert any(4 <= row < 12 or row % 4 == SAME_INSTRUCTION for row, _ in keys(found))
        if any(row == UNINITIALISED for row, *_ in expected):
            assert (UNINITIALISED, 0) in keys(found)
