"""The result of `noisewatch trace` in each format."""
