"""Busy processes, each pinned to its CPU, which end with the process that started them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from noisewatch.errors import CannotMeasure
from noisewatch.machine.spinning.load.host import NAME
from noisewatch.machine.spinning.load.run import busy_processes
from tests.plumbing.waiting import children_of, descendants_of, is_alive, wait_until

_CPU = max(os.sched_getaffinity(0))
_NO_CPU = 4095
_STARTS_AND_SLEEPS = f"""\
import time
from noisewatch.machine.spinning.load.run import busy_processes
with busy_processes([{_CPU}, {_CPU}]):
    print("busy", flush=True)
    time.sleep(60)
"""


def load_below(pid: int) -> list[int]:
    """Return the host, and then the processes that it forked."""
    return [descendant for descendant in descendants_of(pid) if _name_of(descendant) == NAME]


def _name_of(pid: int) -> str | None:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:  # the process has exited
        return None


def test_busy_processes_are_pinned_and_end_with_the_context() -> None:
    with busy_processes([_CPU, _CPU]) as busy:
        host = load_below(os.getpid())[0]
        spinners = children_of(host)
        assert busy.cpus == (_CPU, _CPU)
        assert [os.sched_getaffinity(pid) for pid in spinners] == [{_CPU}, {_CPU}]
        assert len({os.getsid(pid) for pid in [os.getpid(), host, *spinners]}) == 4  # sessions may share time
    assert not any(map(is_alive, [host, *spinners]))


def test_end_returns_the_busy_share() -> None:
    with busy_processes([_CPU, _CPU]) as busy:
        host = load_below(os.getpid())[0]
        ticks = [_cpu_ticks(pid) for pid in children_of(host)]
        wait_until(lambda: all(_cpu_ticks(pid) > before for pid, before in zip(children_of(host), ticks, strict=True)))
        assert 0 < busy.end() <= 1


def _cpu_ticks(pid: int) -> int:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def test_cpu_that_cannot_be_pinned_to_is_left_out() -> None:
    with busy_processes([_CPU, _NO_CPU]) as busy:
        assert busy.cpus == (_CPU,)
        busy.end()
    with pytest.raises(CannotMeasure, match="no CPU can be kept busy: invalid argument"), busy_processes([_NO_CPU]):
        pass


@pytest.mark.parametrize("killed", ["host", "spinner"])
def test_load_that_ended_early_is_an_error(killed: str) -> None:
    with busy_processes([_CPU, _CPU]) as busy:
        host = load_below(os.getpid())[0]
        spinners = children_of(host)
        os.kill(host if killed == "host" else spinners[0], signal.SIGKILL)
        dying = [host, *spinners] if killed == "host" else spinners[:1]
        wait_until(lambda: not any(map(is_alive, dying)))
        with pytest.raises(CannotMeasure, match="the load ended before the measurement did"):
            busy.end()
    assert not any(map(is_alive, spinners))


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_load_ends_with_its_parent(number: signal.Signals) -> None:
    command = [sys.executable, "-c", _STARTS_AND_SLEEPS]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == b"busy\n"
        load = load_below(parent.pid)
        parent.send_signal(number)
        assert len(load) == 3
        wait_until(lambda: not any(map(is_alive, load)))
