"""The drawing kit of the monitor and the reports: rows of styled text, glyphs, panels, tables, charts."""
