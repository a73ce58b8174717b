"""Placement of the threads of real commands that are restricted to some CPUs of this host."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from noisewatch.kernel.cpus.topology import read_topology
from noisewatch.kernel.reader import Reader
from noisewatch.kernel.tasks.command_threads import CommandLook
from noisewatch.machine.live import LiveMachine
from noisewatch.operations.run.placement_watch import PlacementWatch, ThreadSpreader
from tests.plumbing.waiting import wait_until

MACHINE = LiveMachine()
TOPOLOGY = read_topology(Reader(MACHINE), None)
ALLOWED = sorted(os.sched_getaffinity(0))
_THREADS = "import threading\nfor _ in range(3): threading.Thread(target=threading.Event().wait).start()"
_LOOPS = "(while :; do :; done) & (while :; do :; done) & wait"


@contextmanager
def _command(*argv: str, cpus: list[int]) -> Iterator[PlacementWatch]:
    """Watch a command on these CPUs, and kill it with all its children at the end."""
    process = subprocess.Popen(["taskset", "-c", ",".join(map(str, cpus)), *argv], start_new_session=True)
    try:
        wait_until(lambda: os.sched_getaffinity(process.pid) == set(cpus))
        watch = PlacementWatch(MACHINE, frozenset(cpus), TOPOLOGY)
        watch.begin(process.pid)
        yield watch
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _look(watch: PlacementWatch) -> CommandLook:
    look = watch.sample()
    assert look is not None
    return look


def test_all_threads_of_a_program_run_on_its_only_cpu() -> None:
    cpu = ALLOWED[-1]
    with _command(sys.executable, "-c", _THREADS, cpus=[cpu]) as watch:
        wait_until(lambda: len(_look(watch).threads) == 4)
        placement = watch.end()
    assert {thread_cpu for thread in placement.threads for thread_cpu in thread.ns_by_cpu} == {cpu}
    assert placement.seen_ns > 0
    assert placement.reason is None


def test_loops_on_one_cpu_wait_for_one_another() -> None:
    with _command("sh", "-c", _LOOPS, cpus=ALLOWED[-1:]) as watch:
        wait_until(lambda: sum(thread.waited_ns or 0 for thread in _look(watch).threads.values()) > 50_000_000)
        placement = watch.end()
    assert sum(thread.waited_ns is not None and thread.waited_ns > 0 for thread in placement.threads) >= 2
    assert placement.stacking is None  # there is no other target CPU


@pytest.mark.skipif(len(ALLOWED) < 2, reason="takes two CPUs")
def test_loops_get_a_cpu_each() -> None:
    cpus = ALLOWED[-2:]
    spreader = ThreadSpreader(frozenset(cpus), TOPOLOGY)
    with _command("sh", "-c", _LOOPS, cpus=cpus) as watch:

        def is_spread() -> bool:
            look = _look(watch)
            spreader.spread(look)
            loops = [tid for tid, thread in look.threads.items() if thread.is_ready]
            own = sorted(sorted(os.sched_getaffinity(tid)) for tid in loops)
            return len(look.threads) == 3 and own == [[cpu] for cpu in cpus]

        wait_until(is_spread)
