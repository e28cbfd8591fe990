"""Races, missing barriers and unwritten memory, found against a shadow of the memory."""
