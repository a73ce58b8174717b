"""A fleet's verdicts as one table, in each format."""
