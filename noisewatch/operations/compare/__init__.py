"""Comparison of two files: they are read, recognized by their content, and made comparable."""
