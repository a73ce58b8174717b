"""`python -m noisewatch` is the command `noisewatch`."""

from noisewatch.surfaces.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
