"""What happened: pure functions of snapshots. Nothing here reads anything."""
