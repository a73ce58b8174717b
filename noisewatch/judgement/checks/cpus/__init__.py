"""Checks of the target CPUs: their choice, isolation, neighbours, scheduling."""
