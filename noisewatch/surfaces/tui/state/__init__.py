"""The state of the monitor: the collected frames, and how they are shown."""
