"""The surfaces for people and programs: the command line, reports, the monitor. Only here is anything printed."""
