"""The machine as read, in each format."""
