"""Whether what the calibration predicts is what a benchmark then suffers: `python -m tests.truth`."""
