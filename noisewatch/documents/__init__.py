"""The JSON documents of noisewatch: one set of types, by which they are written, read, checked and published."""
