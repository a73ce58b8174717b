"""Checks for tracing and profiling."""
