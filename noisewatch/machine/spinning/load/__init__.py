"""Busy processes, each pinned to one CPU: the load of a calibration with `--under-load`."""
