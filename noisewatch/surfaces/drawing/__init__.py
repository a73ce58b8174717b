"""What the monitor and the reports are drawn with: rows of styled pieces, glyphs, panels, tables, charts."""
