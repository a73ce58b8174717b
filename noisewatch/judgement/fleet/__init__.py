"""The state of each machine of a fleet, and of the fleet as a whole."""
