"""Where people and programs meet it: the command line, reports, the monitor. Only here is anything printed."""
