"""Busy processes, each on its own CPU: the load from which other CPUs have to be isolated."""
