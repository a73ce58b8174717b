"""Checks of which tasks run, or will run."""
