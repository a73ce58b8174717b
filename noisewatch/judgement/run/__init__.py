"""Whether a repetition was disturbed, by which culprits, and what a series is worth. Pure functions."""
