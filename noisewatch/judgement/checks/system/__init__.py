"""Checks of the kernel, the platform, its clock, disks and errors."""
