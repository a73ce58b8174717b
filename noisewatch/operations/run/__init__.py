"""Runs a command while the machine is watched."""
