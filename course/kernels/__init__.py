"""The reference kernels of the labs and explorers, one readable file per chapter."""
