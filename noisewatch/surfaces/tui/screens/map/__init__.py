"""The map: all CPUs by time."""
