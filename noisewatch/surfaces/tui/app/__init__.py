"""The Textual application: keys, timers, the sampler's process."""
