"""The accuracy of the calibration's predictions for benchmarks: `python -m tests.truth`."""
