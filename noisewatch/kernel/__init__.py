"""The meaning of the kernel's files: one module for each file or family, each with its own frozen types."""
