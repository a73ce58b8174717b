"""Loops that measure: the calibration's and the idle probe's, and the processes that run them."""
