"""Set the sizes of an instance's buffers, each from the CPU that writes to it.

The kernel resizes another CPU's buffer in a kernel thread there, and waits for it uninterruptibly, with the lock of all
tracing held: forever where a real-time task leaves no time to others. So a process moves to one CPU after the other.
Until it runs there it can be killed, and once it does an ordinary thread gets its time.
ring_buffer_resize in https://github.com/torvalds/linux/blob/master/kernel/trace/ring_buffer.c
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from noisewatch.machine import wait_readable
from noisewatch.machine.tracefs import buffer_resizer

_READY_DEADLINE_S = 10.0  # an interpreter without libraries takes 0.05 s
_CPU_DEADLINE_S = 2.0  # to get a moment of a CPU that a thousand threads share takes a second
_END_DEADLINE_S = 2.0


def resize_buffers(instance: Path, cpus: Iterable[int], size_kb: int) -> None:
    """Set the sizes (kB) of the CPUs' buffers.

    Those of CPUs to which this process may not move, and all from the first on that does not run its thread in time,
    keep the size that the kernel gave them. Raise OSError if no process can be started.
    """
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", buffer_resizer.__file__, str(instance), str(size_kb), *map(str, cpus)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        bufsize=0,
        start_new_session=True,
    )
    assert process.stdout is not None
    try:
        deadline_s = _READY_DEADLINE_S
        while wait_readable(process.stdout.fileno(), deadline_s) and process.stdout.read(1):
            deadline_s = _CPU_DEADLINE_S
    finally:
        _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the process, wherever it waits."""
    process.kill()  # before it is moved, lest it go on from another CPU
    with suppress(OSError):
        os.sched_setaffinity(process.pid, os.sched_getaffinity(0))
    with suppress(subprocess.TimeoutExpired):
        process.wait(_END_DEADLINE_S)
    if process.stdout is not None:
        process.stdout.close()
