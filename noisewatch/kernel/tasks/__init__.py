"""Threads and processes, noisewatch's among them, and scheduled jobs."""
