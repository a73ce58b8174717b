"""Running of a command while the machine is watched."""
