"""Busy processes, each on its own CPU: the load against which other CPUs have to be isolated."""
