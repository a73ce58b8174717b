"""The entry point: `python -m noisewatch` and the command `noisewatch` both start here."""

import atexit
import gc
import os
import signal
import sys
from types import FrameType, ModuleType, TracebackType

_CANNOT_START, _RUN_CANNOT_START = 2, 125
_YOUNG_OBJECTS = 50_000  # new objects before a garbage collection: imports create many that cannot be freed


def run() -> None:
    """Run the command line and exit with its status. SIGTERM ends it cleanly, like Ctrl-C, unless it is ignored."""
    ended: list[int] = []

    def end(number: int, frame: FrameType | None) -> None:
        ended.append(number)
        raise KeyboardInterrupt(number)

    if sys.stderr is None:  # closed: print() would write to standard output, and the next file would get number 2
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    sys.excepthook = _report_failed_start
    gc.set_threshold(_YOUNG_OBJECTS)
    command_line = _command_line()
    atexit.register(gc.freeze)  # no collection at exit: the process ends anyway
    sys.excepthook = command_line.report_internal_error
    if signal.getsignal(signal.SIGTERM) is not signal.SIG_IGN:
        signal.signal(signal.SIGTERM, end)
    status = command_line.main()
    sys.exit(128 + ended[0] if ended else status)


def _report_failed_start(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Print why noisewatch cannot start, such as a missing library, and exit.

    Raise SystemExit with the command line's status for internal faults. Python itself would exit with 1, the status of
    an unstable machine.
    """
    is_run = sys.argv[1:2] == ["run"]
    message = f"{kind.__name__}: {' '.join(str(error).split())}"
    sys.stderr.write(f"noisewatch{' run' * is_run}: cannot start: {message}\n")
    raise SystemExit(_RUN_CANNOT_START if is_run else _CANNOT_START)


def _command_line() -> ModuleType:
    """Import and return the command line. During the import (0.1 s) Ctrl-C ends the process at once."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from noisewatch.surfaces import cli

    signal.signal(signal.SIGINT, before)
    return cli


if __name__ == "__main__":
    run()
