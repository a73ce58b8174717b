"""What the monitor costs, beside other monitors, and whether a target CPU feels it: figures, no limits."""
