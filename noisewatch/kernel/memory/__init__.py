"""Memory: counters, limits, swap, nodes, traffic."""
