"""Which CPUs there are, how they are wired, isolated and used."""
