"""How a machine developed, and whether it is as usual: pure."""
