"""`python -m noisewatch` is the command `noisewatch`."""

import sys

from noisewatch.surfaces.cli import main, tell_internal_error


def run() -> None:
    """Runs the command line as a process of its own."""
    sys.excepthook = tell_internal_error
    sys.exit(main())


if __name__ == "__main__":
    run()
