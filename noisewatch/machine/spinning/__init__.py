"""Loops that measure, for the calibration and the idle probe, and the processes that run them."""
