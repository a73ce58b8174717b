"""Tuning the machine for benchmarks, and restoring what was there before."""
