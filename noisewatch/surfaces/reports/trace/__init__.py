"""The result of following CPUs (`noisewatch trace`), in each format."""
