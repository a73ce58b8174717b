"""Fixes for findings: actions as data, and the commands, scripts and files rendered from them."""
