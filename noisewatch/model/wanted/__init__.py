"""The machine that a user requires, described by facts, and the test whether a machine meets them."""
