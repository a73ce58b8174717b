"""Running a command while the machine is watched."""
