"""The data that the sampler sends to the screen in each interval."""
