"""What helps to find the way: the map of the course, the index of its words, the field guide."""

from __future__ import annotations

from course.explorers.display import show_html
from course.explorers.explorer import still
from course.figures import course_map as map_figure
from course.figures import field_guide as guide_figure
from course.figures.parts import table
from course.figures.svg import clean, element
from course.terms import TERMS

__all__ = ["course_map", "field_guide", "terms"]


def course_map() -> None:
    """Show the chapters: what each answers, and the question that leads to the next."""
    show_html(still(map_figure.map_image()))


def field_guide() -> None:
    """Show the field guide: a chart to ask your way down, and the table with the counters to read."""
    show_html(
        still(guide_figure.chart_image(), clean("Ask from the top down. The first yes decides."))
        + element("style", guide_figure.TABLE_CSS)
        + element(
            "div", guide_figure.table(), style="overflow-x:auto", tabindex=0, role="region", aria_label="Field guide"
        )
    )


def terms() -> None:
    """Show the words of the course, from A to Z, with the chapter that teaches each."""
    rows = [(one.name, one.meaning, one.chapter) for one in sorted(TERMS, key=lambda one: one.name)]
    show_html(element("div", table(("word", "what it means", "chapter"), rows), class_="words"))
