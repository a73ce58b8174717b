"""Names of the kernel's, explained."""
