"""Our own instances of the kernel's trace."""
