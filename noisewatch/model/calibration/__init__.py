"""What the microbenchmark measured, and what explains its gaps."""
