"""The result of `noisewatch compare` as text, JSON and Markdown."""
