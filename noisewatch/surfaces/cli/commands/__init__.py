"""One module for each command: its operations, its output and its exit status."""
