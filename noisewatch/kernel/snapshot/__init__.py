"""One snapshot: all that is known of a machine at one time."""
