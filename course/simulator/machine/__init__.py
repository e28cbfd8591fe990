"""Runs what a compiler made of a kernel: its PTX, with shared and local accesses as the machine code has them."""
