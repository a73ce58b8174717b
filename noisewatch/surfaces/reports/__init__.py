"""Snapshots, verdicts and other results in each format: pure functions that return texts for the command line."""
