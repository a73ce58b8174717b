"""One module a command: what it asks of the operations, what it prints, and its exit status."""
