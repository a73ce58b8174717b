"""The CPUs: which exist, how they are connected, isolated and used."""
