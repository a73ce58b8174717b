"""The declarations of checks, in each format."""
