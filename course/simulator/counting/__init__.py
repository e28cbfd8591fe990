"""Requests, sectors, wavefronts and arithmetic of a launch, counted while it runs."""
