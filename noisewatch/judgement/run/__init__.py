"""Whether a repetition was disturbed, by what, and which culprits disturbed a series. Pure functions."""
