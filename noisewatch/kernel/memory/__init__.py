"""Memory: counters, limits, swap."""
