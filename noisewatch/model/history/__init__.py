"""The changes of one machine's settings, speed and noise over its history: pure functions."""
