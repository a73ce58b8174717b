"""The comparison of two machines, or of one machine at two times: what counts as a difference, and which ones block."""
