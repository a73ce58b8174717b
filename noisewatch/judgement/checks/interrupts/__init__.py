"""Checks of interrupts, softirqs, ticks and timers."""
