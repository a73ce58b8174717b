"""Pure functions that render snapshots, verdicts and other results as text, in every format of the command line."""
