"""For each check a machine that fails, one where it is unknown, one where it does not apply: by family, as data."""
