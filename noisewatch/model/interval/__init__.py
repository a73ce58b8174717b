"""What happened between two snapshots."""
