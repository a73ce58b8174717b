"""The kernel's trace: its records, and what ran on a CPU when."""
