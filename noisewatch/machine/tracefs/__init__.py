"""noisewatch's own instances of the kernel's trace."""
