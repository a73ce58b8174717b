"""The kernel itself, its platform, its clock, disks and errors."""
