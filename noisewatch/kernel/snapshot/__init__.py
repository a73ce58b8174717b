"""One snapshot: all that is read of a machine at one moment."""
