"""The repetitions of a command: their facts, their books and their statistics."""
