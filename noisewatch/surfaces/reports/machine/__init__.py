"""The state of a machine, in each format."""
