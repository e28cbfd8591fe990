"""Marks that are computed from the text of a notebook, outside the student's process."""
