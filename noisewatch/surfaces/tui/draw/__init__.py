"""Rows of styled text from the monitor's state: pure functions, and the widget that shows them."""
