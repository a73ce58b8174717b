"""The cost of the monitor compared with other monitors, and its noise on a target CPU: figures, no limits."""
