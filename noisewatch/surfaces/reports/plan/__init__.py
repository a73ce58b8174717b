"""A plan of target CPUs in each format."""
