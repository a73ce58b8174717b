"""The results of the microbenchmark, and the causes of its gaps."""
