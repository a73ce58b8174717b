"""The JSON documents of noisewatch: one set of types to write, read, check and publish them."""
