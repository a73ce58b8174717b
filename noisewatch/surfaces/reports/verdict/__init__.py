"""A verdict in each format."""
