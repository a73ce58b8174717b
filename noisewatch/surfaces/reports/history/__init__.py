"""A machine's history as text and JSON."""
