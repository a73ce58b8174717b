"""Comparison of the verdicts of many machines, and figures that are out of line."""
