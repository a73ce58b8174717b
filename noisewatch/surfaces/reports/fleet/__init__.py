"""One table of many verdicts."""
