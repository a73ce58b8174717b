"""Judge what a machine's state means for a benchmark: checks, and the verdict composed of them. Pure functions."""
