"""Clocks, turbo, idle states, heat and power."""
