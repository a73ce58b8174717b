"""Earlier calibrations of this host, kept if the user requests it and used by later ones."""
