"""The log of what changed."""
