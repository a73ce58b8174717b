"""Deliberate noise of known kinds."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path

_DIE_WITH_PARENT = "import ctypes, signal\nctypes.CDLL(None).prctl(1, signal.SIGKILL)\n"  # PR_SET_PDEATHSIG
_HOG = "while True: pass"
_HOG_AT_IDLE_PRIORITY = f"import os\nos.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))\n{_HOG}"
_HOG_AT_NICE_19 = f"import os\nos.nice(19)\n{_HOG}"
_TIMER = """
import time
period, busy = {period_s}, {busy_s}
next_at = time.monotonic()
while True:
    next_at += period
    time.sleep(max(next_at - time.monotonic(), 0))
    until = time.monotonic() + busy
    while time.monotonic() < until: pass
"""
_DISK = """
import os
chunk = os.urandom(1 << 20)
with open({path!r}, "wb") as file:
    while True:
        file.seek(0)
        for _ in range(32): file.write(chunk)
        file.flush()
        os.fsync(file.fileno())
"""
_NETWORK = """
import socket, threading
server = socket.create_server(("127.0.0.1", 0))
def drain(connection):
    while connection.recv(1 << 16): pass
def accept():
    while True: threading.Thread(target=drain, args=(server.accept()[0],), daemon=True).start()
threading.Thread(target=accept, daemon=True).start()
sender = socket.create_connection(server.getsockname())
while True: sender.sendall(bytes(1 << 15))
"""
_MEMORY = """
source, target = bytearray(64 << 20), bytearray(64 << 20)
while True: target[:] = source
"""
_CACHE = _MEMORY.replace("64 << 20", "4 << 20")
_CHILDREN = """
import os, time
while True:
    os.waitpid(os.posix_spawnp("true", ["true"], os.environ), 0)
    time.sleep(0.03)
"""
_WRITE_BACK = """
import os, time
chunk = os.urandom(16 << 20)
with open({path!r}, "wb") as file:
    while True:
        file.seek(0)
        for _ in range(10):
            file.write(chunk)
            time.sleep(0.2)
        os.fdatasync(file.fileno())
"""
_PIPES = """
import subprocess
cat = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
while True:
    cat.stdin.write(b"x")
    cat.stdout.read(1)
"""
_PROCESSES = """
import subprocess, sys
while True: subprocess.run([sys.executable, "-S", "-c", "sum(range(200_000))"])
"""
_SETTLING_S = 0.5
_QUOTA_US, _PERIOD_US = 60_000, 100_000
_GROUPS = ("/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct", "/sys/fs/cgroup")

Condition = Callable[[int, int], AbstractContextManager[None]]  # arguments: the measured CPU, and another one


@contextmanager
def _running(program: str, cpu: int | None) -> Iterator[None]:
    pin = "" if cpu is None else f"import os\nos.sched_setaffinity(0, {{{cpu}}})\n"
    process = subprocess.Popen([sys.executable, "-c", _DIE_WITH_PARENT + pin + program])
    try:
        time.sleep(_SETTLING_S)
        yield
    finally:
        process.kill()
        process.wait()


@contextmanager
def idle(cpu: int, other: int) -> Iterator[None]:
    """Run nothing next to the benchmark."""
    yield


def hog_here(cpu: int, other: int) -> AbstractContextManager[None]:
    """Run a busy loop on the same CPU."""
    return _running(_HOG, cpu)


def hog_elsewhere(cpu: int, other: int) -> AbstractContextManager[None]:
    """Run a busy loop on another CPU."""
    return _running(_HOG, other)


def timer(cpu: int, other: int, period_s: float, busy_s: float) -> AbstractContextManager[None]:
    """Run a task that wakes up periodically on the same CPU."""
    return _running(_TIMER.format(period_s=period_s, busy_s=busy_s), cpu)


@contextmanager
def _writing(program: str) -> Iterator[None]:
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder, _running(program.format(path=folder + "/noise"), None):
        yield


def disk(cpu: int, other: int) -> AbstractContextManager[None]:
    """Run a process that writes and syncs, on any CPU."""
    return _writing(_DISK)


def network(cpu: int, other: int) -> AbstractContextManager[None]:
    """Run a stream over the loopback interface, on any CPU."""
    return _running(_NETWORK, None)


def on_and_off(cpu: int, other: int) -> AbstractContextManager[None]:
    """Run a loop on another CPU that alternates between 2 s of work and 2 s of sleep."""
    return _running(_TIMER.format(period_s=4.0, busy_s=2.0), other)


def compile_elsewhere(cpu: int, other: int) -> AbstractContextManager[None]:
    """Run short processes in sequence on another CPU."""
    return _running(_PROCESSES, other)


def timers(cpu: int, other: int) -> AbstractContextManager[None]:
    """Run a task that wakes up on the same CPU a thousand times a second, each time for 20 µs."""
    return _running(_TIMER.format(period_s=0.001, busy_s=0.00002), cpu)


def memory(cpu: int, other: int) -> AbstractContextManager[None]:
    """Run a process on another CPU that copies more memory than fits into any cache."""
    return _running(_MEMORY, other)


def hog_at_idle_priority(cpu: int, other: int) -> AbstractContextManager[None]:
    """Run a busy loop with SCHED_IDLE on the same CPU."""
    return _running(_HOG_AT_IDLE_PRIORITY, cpu)


def hog_at_nice_19(cpu: int, other: int) -> AbstractContextManager[None]:
    """Run a busy loop at nice 19 on the same CPU."""
    return _running(_HOG_AT_NICE_19, cpu)


def cache(cpu: int, other: int) -> AbstractContextManager[None]:
    """Run a process on another CPU that copies 4 MB within the last-level cache."""
    return _running(_CACHE, other)


def children(cpu: int, other: int) -> AbstractContextManager[None]:
    """Start about thirty short-lived processes a second on the same CPU."""
    return _running(_CHILDREN, cpu)


def write_back(cpu: int, other: int) -> AbstractContextManager[None]:
    """Dirty 80 MB of page cache a second and flush it every two seconds, on any CPU."""
    return _writing(_WRITE_BACK)


def pipes(cpu: int, other: int) -> AbstractContextManager[None]:
    """Run two processes that pass a byte back and forth through pipes, on any CPU."""
    return _running(_PIPES, None)


@contextmanager
def quota(cpu: int, other: int) -> Iterator[None]:
    """Limit this process and its children to 60 % of a CPU. Raise OSError if that is not possible (no root)."""
    root = next(Path(path) for path in _GROUPS if Path(path, "cgroup.procs").exists())
    group = root / f"noisewatch-truth-{os.getpid()}"
    group.mkdir()
    try:
        if (group / "cpu.max").exists():
            (group / "cpu.max").write_text(f"{_QUOTA_US} {_PERIOD_US}")
        else:
            (group / "cpu.cfs_period_us").write_text(str(_PERIOD_US))
            (group / "cpu.cfs_quota_us").write_text(str(_QUOTA_US))
        (group / "cgroup.procs").write_text(str(os.getpid()))
        try:
            yield
        finally:
            (root / "cgroup.procs").write_text(str(os.getpid()))
    finally:
        time.sleep(_SETTLING_S)
        group.rmdir()


CONDITIONS: dict[str, Condition] = {
    "idle": idle,
    "hog, same CPU": hog_here,
    "hog, other CPU": hog_elsewhere,
    "10 Hz × 5 ms": partial(timer, period_s=0.1, busy_s=0.005),
    "100 Hz × 0.5 ms": partial(timer, period_s=0.01, busy_s=0.0005),
    "disk": disk,
    "network": network,
    "memory, other CPU": memory,
    "quota 60 %": quota,
    "2 s on, 2 s off": on_and_off,
    "short processes": compile_elsewhere,
    "1000 Hz × 20 µs": timers,
}
GATE_CONDITIONS: dict[str, Condition] = {
    "idle": idle,
    "hog, same CPU": hog_here,
    "SCHED_IDLE hog": hog_at_idle_priority,
    "nice 19 hog": hog_at_nice_19,
    "hog, other CPU": hog_elsewhere,
    "1000 Hz × 20 µs": timers,
    "memory, other CPU": memory,
    "cache, other CPU": cache,
    "children": children,
    "quota 60 %": quota,
    "write-back": write_back,
    "pipes": pipes,
    "network": network,
    "a tenth": partial(timer, period_s=0.05, busy_s=0.005),
    "a hundredth": partial(timer, period_s=0.01, busy_s=0.0001),
    "bursts": partial(timer, period_s=3.0, busy_s=0.5),
}
