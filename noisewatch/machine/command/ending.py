"""How a command ended, and ending as it did."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from typing import NoReturn

from noisewatch.cpus import CpuSet
from noisewatch.machine.command import load_launching
from noisewatch.machine.command.usage import ResourceUsage
from noisewatch.records import dataclass

_PR_SET_DUMPABLE = 4
_BY_SIGNAL = 128  # what a shell adds to the signal's number


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedCommand:
    """How a command ended, and what it used since it began, with its descendants that it waited for.

    Exactly one of `exit_status` and `signal_number` is known. `max_rss_bytes` is None where no part of it grew larger
    than noisewatch, whose size the kernel counts as the child's. `left_pids` are its descendants that live on, and
    `adopted_usage` is of those that it did not wait for, and that ended before it did; None where the kernel does not
    tell them. `may_be_others`: both may be of processes that lived before the command: they can start some too, which
    come to us like its own. `stopped_ns` is as exact as the caller waits.
    """

    exit_status: int | None
    signal_number: int | None
    has_dumped_core: bool
    ended_ns: int  # CLOCK_MONOTONIC
    usage: ResourceUsage
    max_rss_bytes: int | None
    stop_count: int
    stopped_ns: int
    left_pids: frozenset[int] | None
    may_be_others: bool
    adopted_usage: ResourceUsage | None
    allowed: CpuSet | None  # the CPUs that its first thread could run on in the end; None is unknown
    scheduling: str  # its first thread's /proc/PID/schedstat at the end; empty where there is none


def end_as(ended: EndedCommand) -> NoReturn:
    """Ends this process with the command's exit status, or by the signal that ended it; no line behind it is run.

    An exit status raises SystemExit; a signal is final: what is to be put back or written has to be done by then. There
    is no second core dump.
    """
    number = ended.signal_number
    if number is None:
        sys.exit(ended.exit_status)
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):  # closed, or nobody listens any more
            stream.flush()
    load_launching().prctl(_PR_SET_DUMPABLE, 0)
    with suppress(OSError):  # nobody handles SIGKILL
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
    os.kill(os.getpid(), number)
    os._exit(_BY_SIGNAL + number)  # the first process of a container lives through it
