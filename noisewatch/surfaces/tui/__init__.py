"""The monitor: one screen, drawn from one frame at a time. Only the commands that draw it import this package."""
