"""The machine that a user wants, described by facts; and whether a machine is that one."""
