"""What every guide to benchmarking talks about and no check can answer from outside: a page of Markdown each."""
