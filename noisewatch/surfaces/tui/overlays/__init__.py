"""Overlays above the monitor's screens: they measure the machine, tune it, or show its history."""
