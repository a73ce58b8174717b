"""The kernel itself, the platform it runs on, its clock, disks and errors."""
