"""Checks of what the microbenchmark measured."""
