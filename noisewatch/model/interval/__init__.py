"""Models of what happened between two snapshots."""
