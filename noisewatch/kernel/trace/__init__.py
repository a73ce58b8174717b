"""The kernel's trace: its records, and who ran on a CPU when."""
