"""All that is known of a machine at one moment."""
