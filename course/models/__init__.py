"""Arithmetic only: NumPy in, frozen dataclasses out; no drawing, no state."""
