"""Checks of control groups: confinement, quota, priority."""
