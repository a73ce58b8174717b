"""The types of noisewatch's JSON documents, which it writes, reads and validates; schemas are generated from them."""
