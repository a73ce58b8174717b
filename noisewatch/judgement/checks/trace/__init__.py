"""Checks of who traces and profiles."""
