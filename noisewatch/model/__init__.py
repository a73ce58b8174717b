"""Models of what happened on a machine: pure functions, which read nothing."""
