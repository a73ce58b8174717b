"""A calibration in each format."""
