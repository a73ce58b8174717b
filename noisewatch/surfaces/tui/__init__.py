"""The monitor, a Textual application. Only the commands that draw it import this package."""
