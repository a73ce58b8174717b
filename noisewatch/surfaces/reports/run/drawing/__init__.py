"""A series as a picture of text."""
