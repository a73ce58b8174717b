"""What a series of repetitions came to."""
