"""Numbers about one chapter: how the class did, and on which questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from autograder.report.gradebook import Submission

__all__ = ["BINS", "QuestionStatistics", "Statistics", "statistics"]

BINS = 10
"""Classes of the score distribution, of equal width from 0 % to 100 %."""


@dataclass(frozen=True)
class QuestionStatistics:
    """One question. Answers that wait for a person are left out of all shares; a share is NaN where none is left."""

    name: str
    max_points: float
    marked: int
    waiting: int
    mean_points: float
    mean_share: float
    """Of the most points, from 0 to 1 (extra credit may lift it above)."""
    none_share: float
    """Of the students: how many got no point."""
    full_share: float
    """Of the students: how many got all points."""


@dataclass(frozen=True)
class Statistics:
    """A chapter. Quartiles are in points, penalties for lateness taken off; NaN when nobody was graded."""

    graded: int
    max_points: float
    mean: float
    lower_quartile: float
    median: float
    upper_quartile: float
    bins: tuple[int, ...]
    """Students by share of the points: bin k holds k/BINS <= share < (k+1)/BINS, the last one also 1 and more."""
    questions: tuple[QuestionStatistics, ...]

    @property
    def hardest(self) -> list[QuestionStatistics]:
        """Questions by mean share, the lowest first; those that nobody has marked are left out."""
        marked = [question for question in self.questions if question.marked]
        return sorted(marked, key=lambda question: question.mean_share)


def statistics(rows: Sequence[Submission], points: Mapping[str, float]) -> Statistics:
    """Statistics of graded submissions. points: question -> the most points."""
    most = sum(points.values())
    totals = np.array([row.total for row in rows])
    share = totals / most if most else np.zeros(len(rows))
    # A share such as 0.3 may come out as 0.29999999999999999: it belongs to the bin that it starts.
    bins = np.clip(np.floor(share * BINS + 1e-9), 0, BINS - 1).astype(int)
    lower, median, upper = np.quantile(totals, [0.25, 0.5, 0.75]) if len(rows) else [np.nan] * 3
    return Statistics(
        graded=len(rows),
        max_points=most,
        mean=float(totals.mean()) if len(rows) else float("nan"),
        lower_quartile=float(lower),
        median=float(median),
        upper_quartile=float(upper),
        bins=tuple(int(count) for count in np.bincount(bins, minlength=BINS)),
        questions=tuple(_question(rows, name, most) for name, most in points.items()),
    )


def _question(rows: Sequence[Submission], name: str, most: float) -> QuestionStatistics:
    read: npt.NDArray[np.float64] = np.array(
        [row.scores[name] for row in rows if name in row.scores and name not in row.waiting], dtype=float
    )
    none = np.nan if not read.size else float(np.mean(read <= 0))
    full = np.nan if not read.size else float(np.mean(read >= most - 1e-9))
    mean = np.nan if not read.size else float(read.mean())
    return QuestionStatistics(
        name=name,
        max_points=most,
        marked=read.size,
        waiting=sum(name in row.waiting for row in rows),
        mean_points=mean,
        mean_share=mean / most if most else np.nan,
        none_share=none,
        full_share=full,
    )
