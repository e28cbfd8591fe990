"""What a check says: points, and one message for every part, as text and as HTML."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

__all__ = ["PartResult", "Result"]

# Badges bring their own background, so that they read the same on a light and on a dark page;
# all other text takes the page's own colour. White on these has a contrast above 4.5.
_BADGES = {"right": ("#1a7f37", "&#10003; right"), "partly": ("#8a5a00", "&#9679; partly right"),
           "wrong": ("#b3261e", "&#10007; not yet")}  # fmt: skip
_TEXT_BADGES = {"right": "right", "partly": "partly right", "wrong": "not yet"}


@dataclass(frozen=True)
class PartResult:
    """One part of an answer: is it right, and what helps if it is not."""

    name: str
    right: bool
    message: str
    points: float
    max_points: float

    @property
    def state(self) -> str:
        """'right', 'partly' (some points) or 'wrong'."""
        return "right" if self.right else "partly" if self.points > 0 else "wrong"


@dataclass(frozen=True)
class Result:
    """Outcome of one check. `str(result)` is the complete text for a learner.

    points: what the answer earns, from 0 to max_points.
    parts: one PartResult for each part, in the order of the question.
    feedback: remarks on the answer as a whole ('' when there are none).
    answered: False when the learner has not begun.
    """

    name: str
    points: float
    max_points: float
    parts: tuple[PartResult, ...]
    feedback: str = ""
    answered: bool = True

    @property
    def right(self) -> bool:
        """Whether every part is right."""
        return all(part.right for part in self.parts)

    @property
    def headline(self) -> str:
        """Name and points in one line."""
        return f"{self.name}: {self.points:g} of {self.max_points:g} points"

    def __str__(self) -> str:
        lines = [self.headline]
        if self.feedback:
            lines.append(self.feedback)
        width = max((len(part.name) for part in self.parts), default=0)
        lines += [f"  {part.name:{width}}  [{_TEXT_BADGES[part.state]}]  {part.message}" for part in self.parts]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        rows = "".join(_row(part) for part in self.parts)
        remarks = "".join(f'<p style="margin:.3em 0">{escape(line)}</p>' for line in self.feedback.splitlines())
        return (
            '<div style="line-height:1.5;max-width:60em">'
            f'<p style="margin:.3em 0"><strong>{escape(self.headline)}</strong></p>{remarks}'
            f'<ul style="list-style:none;margin:.3em 0;padding:0">{rows}</ul></div>'
        )


def _row(part: PartResult) -> str:
    colour, label = _BADGES[part.state]
    return (
        '<li style="margin:.3em 0">'
        f'<span style="background:{colour};color:#fff;border-radius:.3em;padding:.1em .5em;white-space:nowrap">'
        f"{label}</span> <code>{escape(part.name)}</code> {escape(part.message)}</li>"
    )
