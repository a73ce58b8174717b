"""A host that is tuned while a command runs: a guardian restores it even if noisewatch itself is killed.

The guardian is a process in its own session, so a signal to noisewatch's process group does not reach it. It waits
on a pidfd (pidfd_open(2)) until noisewatch has ended, and uses no CPU until then.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from noisewatch.errors import CannotMeasure, NoisewatchError, UsageError, quote, system_reason
from noisewatch.kernel.system.tuning import Session
from noisewatch.machine.tuning import Settings
from noisewatch.operations.tuning.plan import TuningPlan
from noisewatch.operations.tuning.tune import JOURNAL, Restoring, restore_host, tune_host
from noisewatch.operations.tuning.tuner import Changed

_IGNORED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
_MOST_ATTEMPTS, _PAUSE_S = 10, 0.5
_SIGNALLED = 128  # exit status of a command ended by signal N, less N


@contextmanager
def tuned_host(
    plan: TuningPlan,
    session: Session,
    report: Callable[[Restoring], None],
    settings: Settings | None = None,
    path: Path = JOURNAL,
) -> Iterator[list[Changed]]:
    """Tune the host, yield the outcomes, and restore this session's changes at the end.

    `report` is called with the outcome of restoring, unless restoring raised an error. Raise UsageError if the journal
    cannot be used, or the guardian cannot be started.
    """
    start_guardian(session, settings, path)
    try:
        yield tune_host(plan, session, settings, path)
    finally:
        report(restore_host(settings=settings, path=path, only=session))


def run_command(command: Sequence[str]) -> int:
    """Run the command, and return its exit status as shells do. Raise CannotMeasure if it cannot be executed.

    Ctrl-C reaches the command too: this process waits until the command has ended.
    """
    earlier = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        status = subprocess.run(command, check=False).returncode
    except OSError as error:
        raise CannotMeasure(f"{quote(command[0])} cannot be executed: {system_reason(error)}") from error
    finally:
        signal.signal(signal.SIGINT, earlier)
    return status if status >= 0 else _SIGNALLED - status


def start_guardian(session: Session, settings: Settings | None = None, path: Path = JOURNAL) -> None:
    """Fork the guardian of this process, and return once signals to this process group no longer reach the guardian.

    When this process ends, the guardian restores the session's changes that are left. Raise UsageError if
    it cannot be started.
    """
    try:
        owner = os.pidfd_open(os.getpid())
        ready, is_ready = os.pipe()
        try:
            if os.fork() == 0:
                _guard(owner, is_ready, session, settings, path)
            os.close(is_ready)
            if not os.read(ready, 1):
                raise UsageError("the process that would restore the settings ended at once, so nothing was changed")
        finally:
            os.close(ready)
            os.close(owner)
    except OSError as error:
        raise UsageError(f"the process that restores the settings cannot be started: {system_reason(error)}") from error


def _guard(owner: int, is_ready: int, session: Session, settings: Settings | None, path: Path) -> None:
    """Wait until the owner has ended, restore its remaining changes, and exit without running the callers' code."""
    status = 1
    try:
        os.setsid()
        for number in _IGNORED:
            signal.signal(number, signal.SIG_IGN)
        # A reader of the owner's output waits until no process has the pipe open.
        with open(os.devnull, "r+b", buffering=0) as nowhere:
            for stream in range(3):
                os.dup2(nowhere.fileno(), stream)
        os.write(is_ready, b"1")
        os.close(is_ready)
        select.select([owner], [], [])
        with suppress(NoisewatchError):
            for _ in range(_MOST_ATTEMPTS):
                if restore_host(settings=settings, path=path, only=session).is_complete:
                    break
                time.sleep(_PAUSE_S)  # the killed command may not have left its control group yet
            status = 0
    finally:
        os._exit(status)
