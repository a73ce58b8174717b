"""What a machine's history shows: text and JSON."""
