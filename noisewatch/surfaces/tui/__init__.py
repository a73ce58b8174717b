"""The monitor: one screen, drawn from one frame at a time. Imported by the commands that draw it, and nothing else."""
