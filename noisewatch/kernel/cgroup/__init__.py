"""Control groups: bandwidth, weights, freezing, partitions."""
