"""What earlier calibrations of this host showed: remembered where the user wants that, and asked by the next ones."""
