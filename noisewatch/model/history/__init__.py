"""The settings, speed and noise of one machine from one entry of its history to the next: pure functions."""
