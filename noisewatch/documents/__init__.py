"""The types of noisewatch's JSON documents, by which they are written, read, checked and published."""
