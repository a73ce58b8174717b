"""Control groups: bandwidth, weights, partitions."""
