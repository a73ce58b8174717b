"""The data that the sampler sends to the screen each interval."""
