"""Overlays, which the monitor shows above its screens while it measures the machine."""
