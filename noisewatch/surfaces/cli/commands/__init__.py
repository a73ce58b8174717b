"""One module per command, with a function `run` that returns the exit status."""
