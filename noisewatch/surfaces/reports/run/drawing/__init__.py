"""The runs of a series, drawn with text characters."""
