"""`python -m noisewatch` is the command `noisewatch`."""

import signal
import sys

from noisewatch.surfaces.cli import main, tell_internal_error


def run() -> None:
    """Runs the command line as a process of its own. SIGTERM ends it in order, as Ctrl-C does."""
    sys.excepthook = tell_internal_error
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.exit(main())


if __name__ == "__main__":
    run()
