"""How each machine of a fleet stands, and all of them together."""
