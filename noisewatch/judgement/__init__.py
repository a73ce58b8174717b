"""What it means for a benchmark: checks, and the verdict that they compose. Pure."""
