"""Reading of the verdicts of many machines, one after the other."""
