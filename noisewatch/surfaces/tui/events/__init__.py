"""The log of changes on the machine."""
