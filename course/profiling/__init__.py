"""What a person sees of a run: counts per source line, findings, and the same beside hardware."""
