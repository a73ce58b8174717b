"""Models of what happened on a machine: pure functions of snapshots that read nothing."""
