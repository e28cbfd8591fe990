"""Runs what a student wrote where it can do no harm: a notebook as a whole, or one command."""
