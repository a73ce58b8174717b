"""Examples of each check by family: machines on which it fails, is unknown or does not apply, as data."""
