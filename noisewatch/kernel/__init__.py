"""What the kernel's files mean: one module for each file or family, each with its own frozen types."""
