"""Whether a repetition was disturbed, by whom, and what a whole series is worth: pure."""
