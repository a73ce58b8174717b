"""Measuring loops of the calibration and the idle probe, and the processes that run them."""
