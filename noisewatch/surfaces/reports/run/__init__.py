"""A series of runs in each format."""
