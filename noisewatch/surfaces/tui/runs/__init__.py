"""Observed runs of commands (`noisewatch run`): their status, and their lane on the timeline."""
