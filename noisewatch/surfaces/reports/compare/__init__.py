"""What `noisewatch compare` found: text, JSON and Markdown."""
