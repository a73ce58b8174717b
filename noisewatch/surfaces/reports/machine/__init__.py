"""The machine's state as read, in each format."""
