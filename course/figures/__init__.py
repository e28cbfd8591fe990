"""Pictures only: results of `course.models` in, SVG strings, HTML or matplotlib Figures out."""
