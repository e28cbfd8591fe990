"""Runs what a compiler made of a kernel: its machine-level instructions, counted as they are executed."""
