"""The screens: each a function from the monitor's state to rows."""
