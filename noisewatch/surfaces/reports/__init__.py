"""Snapshots and verdicts as text and JSON: pure functions that return what the command line prints."""
