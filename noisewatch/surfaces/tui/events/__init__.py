"""The log of what changed on the machine."""
