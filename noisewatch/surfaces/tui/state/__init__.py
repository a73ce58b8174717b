"""What the monitor shows, and how it is looked at."""
