"""The map: all CPUs over time."""
