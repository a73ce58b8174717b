"""Reports of `tune` and `restore`."""
