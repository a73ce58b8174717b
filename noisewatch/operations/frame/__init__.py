"""What crosses from the sampler to the screen each interval."""
