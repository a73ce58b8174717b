"""The process that forks busy processes. All of them end when its parent ends, for any reason.

`run.py` starts it with a bare interpreter. Nothing is written to its standard input, which ends with the parent: the
kernel closes the other end of the pipe even if the parent is killed. Each busy process writes a line to standard output
when it is ready, and when it ends.
"""

from __future__ import annotations

import os
import select
import sys
from contextlib import suppress
from time import monotonic_ns, process_time_ns

NAME = "noisewatch-load"  # the process name that other programs see, `noisewatch trace` among them: 15 bytes
_LOOK_NS = 20_000_000  # time between two checks that the parent is alive


def main() -> None:
    """Keep the CPUs in the list `argv[1]` busy, with one process per entry."""
    with suppress(OSError), open("/proc/self/comm", "w") as file:
        file.write(NAME)
    own_pid = os.getpid()
    for number, cpu in enumerate(sys.argv[1].split(",")):
        if os.fork() == 0:
            # A separate autogroup (sched(7)), because processes of one autogroup share the time of one process.
            os.setsid()
            _keep_busy(number, int(cpu), own_pid)
            os._exit(0)
    with suppress(ChildProcessError):
        while True:
            os.wait()


def _keep_busy(number: int, cpu: int, host_pid: int) -> None:
    """Spin on the CPU until standard input ends, or the forking process is gone."""
    try:
        os.sched_setaffinity(0, {cpu})
    except OSError as error:
        _write_line(f"{number} refused {error.errno}")
        return
    began_ns, had_ns = monotonic_ns(), process_time_ns()
    _write_line(f"{number} ready 0")
    until_ns = began_ns
    while os.getppid() == host_pid and not select.select([0], [], [], 0)[0]:
        until_ns += _LOOK_NS
        while monotonic_ns() < until_ns:
            pass
        until_ns = max(until_ns, monotonic_ns())
    share = (process_time_ns() - had_ns) / max(monotonic_ns() - began_ns, 1)
    _write_line(f"{number} had {round(share * 1e6)}")


def _write_line(line: str) -> None:
    """Write the line in one piece. The other end of the pipe may be closed."""
    with suppress(OSError):
        os.write(1, line.encode() + b"\n")
