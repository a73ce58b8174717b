"""`python -m noisewatch` is the command `noisewatch`."""

import atexit
import gc
import signal
import sys
from types import FrameType

from noisewatch.surfaces.cli import main, tell_internal_error

_YOUNG_OBJECTS = 50_000  # before cycles are looked for among them: importing makes many, and none that can go


def run() -> None:
    """Runs the command line as a process of its own. SIGTERM ends it in order, as Ctrl-C does, unless it is ignored."""
    ended: list[int] = []

    def end(number: int, frame: FrameType | None) -> None:
        ended.append(number)
        raise KeyboardInterrupt(number)

    gc.set_threshold(_YOUNG_OBJECTS)
    atexit.register(gc.freeze)  # what ends with the process is not looked through once more
    sys.excepthook = tell_internal_error
    if signal.getsignal(signal.SIGTERM) is not signal.SIG_IGN:
        signal.signal(signal.SIGTERM, end)
    status = main()
    sys.exit(128 + ended[0] if ended else status)


if __name__ == "__main__":
    run()
