"""What is known of the repetitions of a command: their facts, their books and their statistics."""
