"""Threads and processes, ours among them, and what is scheduled to start."""
