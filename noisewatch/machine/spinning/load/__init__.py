"""Busy processes, each on a CPU of its own: what the isolation of other CPUs has to hold against."""
