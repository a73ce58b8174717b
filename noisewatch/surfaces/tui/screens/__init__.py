"""The six screens, and help: each a function from state to rows."""
