"""Running commands while the machine is watched."""
