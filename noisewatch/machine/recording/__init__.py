"""Recordings: a machine's answers in a file, and a machine that gives them again."""
