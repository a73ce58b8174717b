"""Interrupts and softirqs: counts by CPU, allowed CPUs, and devices."""
