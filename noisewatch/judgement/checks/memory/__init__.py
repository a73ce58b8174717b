"""Checks of memory: swap, reclaim, room, daemons."""
