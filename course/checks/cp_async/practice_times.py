"""Practice with groups and times: which copies have landed, deep pipelines, the most that overlap can gain."""

from __future__ import annotations

from course.checks.parts import Misconception, Number
from course.checks.question import Question
from course.models.pipeline import pipeline, pipeline_time

__all__ = ["P1", "P2", "P5", "landed"]

# p1: groups -------------------------------------------------------------------------------------

PROGRAM = ("copy", "commit", "copy", "copy", "commit", "copy")
"""What one thread does before its wait."""


def landed(program: tuple[str, ...], groups: int) -> int:
    """Copies that have landed for certain after a wait that may leave so many groups on their way."""
    committed: list[int] = []
    open_group = 0
    for step in program:
        if step == "commit":
            committed.append(open_group)
            open_group = 0
        else:
            open_group += 1
    return sum(committed[: max(0, len(committed) - groups)])


_copies = PROGRAM.count("copy")
_one, _zero, _two = (landed(PROGRAM, groups) for groups in (1, 0, 2))

P1 = Question(
    name="cp_async/p1",
    statement=(
        "A thread does this: copy, commit, copy, copy, commit, copy. Each copy moves one float. Then it waits. How "
        "many of its four copies have landed for certain?"
    ),
    parts=(
        Number(
            name="wait_1",
            points=1,
            asks="after `cuda.cp_async_wait(1)`",
            unit="copies",
            expected=_one,
            hint="Write the groups down, oldest first. The newest may still be on its way.",
            misconceptions=(
                Misconception(_copies - 1, "This leaves one copy on its way. The number counts groups."),
                Misconception(_copies, "The wait does not cover all: one group may still be on its way."),
                Misconception(0, "At most one group may still be on its way, and there are more."),
            ),
        ),
        Number(
            name="wait_0",
            points=1,
            asks="after `cuda.cp_async_wait(0)`",
            unit="copies",
            expected=_zero,
            hint="A wait covers groups. Is every copy in one?",
            misconceptions=(
                Misconception(_copies, "One of the copies was started after the last commit: no wait covers it yet."),
                Misconception(_one, "Now no group may be on its way any more."),
                Misconception(PROGRAM.count("commit"), "This counts groups. Some have more than one copy."),
            ),
        ),
        Number(
            name="wait_2",
            points=1,
            asks="after `cuda.cp_async_wait(2)`",
            unit="copies",
            expected=_two,
            hint="How many groups are there at all?",
            misconceptions=(
                Misconception(_one, "There are as many groups as may be on their way."),
                Misconception(_copies - 2, "The number counts groups, not copies."),
                Misconception(_copies, "A wait covers the oldest groups, and leaves the newest."),
            ),
        ),
    ),
    worked=(
        f"The first commit makes a group of 1 copy, the second one a group of 2. The last copy belongs to no group. "
        f"`cp_async_wait(1)` may leave the newest group on its way, so the first group has landed: **{_one}** copy. "
        f"`cp_async_wait(0)` leaves no group on its way: **{_zero}** copies. The last one is not among them: no wait "
        f"covers a copy before its commit. `cp_async_wait(2)` may leave two groups on their way, and there are only "
        f"two: **{_two}** copies have landed for certain."
    ),
)

# p2: a deep pipeline ------------------------------------------------------------------------------

_TILES, _LOAD, _COMPUTE, _AT_ONCE = 8, 12, 4, 3
_times = {
    stages: pipeline(_TILES, _LOAD, _COMPUTE, stages, loads_at_once=_AT_ONCE).total_time for stages in (1, 2, 3, 4, 5)
}
_fewest = min(stages for stages, time in _times.items() if time == min(_times.values()))
assert _times[_fewest] < _times[_fewest - 1]

P2 = Question(
    name="cp_async/p2",
    statement=(
        "A block works through 8 tiles. A load takes 12, because the memory is far away, but it brings three tiles at "
        "the same time, each in 12. To compute a tile takes 4. With s buffers, up to s - 1 loads are on their way "
        "while a tile is computed."
    ),
    parts=(
        Number(
            name="two_buffers",
            points=1,
            asks="time of all tiles with two buffers",
            unit="in the same unit",
            expected=_times[2],
            hint="With two buffers, one load is on its way at a time.",
            misconceptions=(
                Misconception(_times[1], "This is the time with one buffer."),
                Misconception(_times[4], "This needs more loads on their way than two buffers allow."),
                Misconception(_TILES * _LOAD, "The last tile must be computed, too."),
            ),
        ),
        Number(
            name="four_buffers",
            points=1,
            asks="time of all tiles with four buffers",
            unit="in the same unit",
            expected=_times[4],
            hint="Three loads are on their way together. When does the fourth one start?",
            misconceptions=(
                Misconception(_times[2], "Now three loads are on their way at the same time."),
                Misconception(_times[2] / 3, "The first load and the last computation do not become shorter."),
                Misconception(_TILES * _COMPUTE, "The first load stands alone."),
            ),
        ),
        Number(
            name="enough_buffers",
            points=1,
            asks="the smallest number of buffers with the shortest time",
            unit="buffers",
            expected=_fewest,
            hint="How many loads can be on their way at all?",
            misconceptions=(
                Misconception(_AT_ONCE, "One buffer more is needed: the tile that is computed needs one, too."),
                Misconception(2, "Two buffers keep only one load on its way."),
                Misconception(_TILES, "Not every tile needs a buffer of its own: buffers are used again."),
            ),
        ),
    ),
    worked=(
        f"Two buffers: one load is on its way while a tile is computed. Loads are longer and set the pace: {_LOAD} "
        f"+ {_TILES - 1} × {_LOAD} + {_COMPUTE} = **{_times[2]:g}**. Four buffers: three loads travel together, so on "
        f"average a tile lands every {_LOAD // _AT_ONCE}, as fast as tiles are computed. All take "
        f"**{_times[4]:g}**. With three buffers it is {_times[3]:g}, and a fifth buffer gains nothing ({_times[5]:g}): "
        f"the memory brings no more than {_AT_ONCE} at a time. So **{_fewest}** are enough. This is what deep "
        "pipelines are for: a *latency* that is longer than the computing of one tile. They do not help when the "
        "*bandwidth* is used up."
    ),
)

# p5: the most that overlap can gain ---------------------------------------------------------------

_MANY = 10**6
_SLOW_LOAD = (9, 3)


def _gain(load: int, compute: int, tiles: int) -> float:
    return float(pipeline_time(tiles, load, compute, 1) / pipeline_time(tiles, load, compute, 2))


_limit = sum(_SLOW_LOAD) / max(_SLOW_LOAD)
_equal = _gain(5, 5, 4)

P5 = Question(
    name="cp_async/p5",
    statement=(
        "How many times as fast is a loop with two buffers as the same loop with one? The memory loads one tile at a "
        "time, and barriers take no time."
    ),
    parts=(
        Number(
            name="many_tiles",
            points=1,
            asks="very many tiles, load 9, compute 3; to three digits",
            unit="times",
            tolerance=2e-3,
            expected=_limit,
            hint="With very many tiles, what does one tile cost before and after?",
            misconceptions=(
                Misconception(2, "Two buffers double the speed only when load and compute take equally long."),
                Misconception(_SLOW_LOAD[0] / _SLOW_LOAD[1], "This compares load and compute. Compare the times of a "
                              "tile before and after."),
                Misconception(1 / _limit, "This is upside down."),
                Misconception(sum(_SLOW_LOAD) / min(_SLOW_LOAD), "The longer of the two sets the pace, not the shorter "
                              "one."),
            ),
        ),
        Number(
            name="four_tiles",
            points=1,
            asks="4 tiles, load 5, compute 5",
            unit="times",
            tolerance=2e-3,
            expected=_equal,
            hint="The first load and the last computation stand alone.",
            misconceptions=(
                Misconception(2, "This is the limit for very many tiles. With four, the first load and the last "
                              "computation count."),
                Misconception(1, "Something is hidden: all loads but the first."),
                Misconception(1 / _equal, "This is upside down."),
            ),
        ),
    ),
    worked=(
        f"Very many tiles: one buffer costs {sum(_SLOW_LOAD)} a tile, two cost the longer of the two, "
        f"{max(_SLOW_LOAD)}: {sum(_SLOW_LOAD)} ÷ {max(_SLOW_LOAD)} = **{_limit:.3g}**. (With a million tiles: "
        f"{_gain(*_SLOW_LOAD, _MANY):.3f}.) Four tiles with 5 and 5: {4 * 10} ÷ {5 + 3 * 5 + 5} = **{_equal:.3g}**. "
        "Overlap never gains more than a factor of two, however many buffers there are. It comes near two only when "
        "load and compute take equally long and the tiles are many."
    ),
)  # fmt: skip
