"""Checks of clocks, idle states, heat and power."""
