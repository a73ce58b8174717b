"""Repetitions of a command: observations, books and statistics."""
