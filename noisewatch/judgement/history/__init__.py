"""The development of a machine, and whether it is as usual. Pure functions."""
