"""Runs of commands (`noisewatch run`) that were watched as well: what they told, and their lane on the timeline."""
