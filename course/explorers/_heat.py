"""The heat of a profile in a notebook: source lines with bars of what they cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from course.explorers.display import show_html
from course.explorers.explorer import still
from course.figures.profile_heat import By, heat_sentence
from course.figures.profile_heat import heat as plot
from course.figures.style import image
from course.figures.svg import clean

if TYPE_CHECKING:
    from course.profiling.profile import Profile

__all__ = ["heat"]


def heat(profile: Profile, by: By = "sectors") -> None:
    """Show where a kernel's traffic comes from: each source line with a bar of its cost.

    profile: what ``profile(kernel, grid, block, ...)`` returned.
    by: "sectors" for global memory, "wavefronts" for shared memory.
    """
    words = heat_sentence(profile, by)
    show_html(still(image(plot(profile, by), words), clean(words)))
