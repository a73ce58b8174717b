"""Two machines, or one machine twice, held against each other: what counts as a difference, and which blocks."""
