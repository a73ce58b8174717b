"""Tunes the machine for benchmarks, and restores the earlier settings."""
