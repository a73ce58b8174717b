"""Checks of tasks: running ones, and scheduled ones."""
