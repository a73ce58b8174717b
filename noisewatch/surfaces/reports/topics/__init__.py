"""Topics of benchmarking that no check can judge from outside: a page of Markdown for each."""
