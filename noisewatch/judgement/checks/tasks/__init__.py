"""Checks of who runs, or will."""
