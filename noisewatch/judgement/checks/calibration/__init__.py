"""Checks of the microbenchmark's results."""
