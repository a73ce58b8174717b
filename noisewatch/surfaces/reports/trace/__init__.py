"""What followed CPUs came to, in each format."""
