"""The checks, by area. A new one is one decorated function in one of these files."""
