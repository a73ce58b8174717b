"""Recordings: a machine's answers in a file, and a machine that replays them."""
