"""What the verdicts of many machines say of each, and which figures are out of line."""
