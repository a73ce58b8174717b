"""The drawing kit of the monitor and the reports: rows of styled pieces, glyphs, panels, tables, charts."""
