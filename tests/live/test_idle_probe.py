"""The idle probe on this host with an artificial benchmark: `pytest -m live`. No other process may use the last CPU."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from noisewatch.operations.frame.frame import NO_FIELDS, CpuLine, Frame, decode_frame, stable_fields
from noisewatch.operations.machines import MachineOptions
from noisewatch.operations.sampler import SamplerOptions
from tests.live.noise import CPU, LOOP, noise
from tests.plumbing.waiting import descendants_of, is_alive, wait_until

pytestmark = pytest.mark.live

_TIMEOUT_S = 90.0  # others' work on the CPU keeps the idle probe away


class _Sampler(subprocess.Popen[bytes]):
    """The sampler's process, whose lines omit stable fields that are unchanged since the previous line."""

    _previous = NO_FIELDS

    def frame(self) -> Frame:
        """Read the next frame."""
        assert self.stdout is not None
        frame = decode_frame(self.stdout.readline(), self._previous)
        self._previous = stable_fields(frame)
        return frame


@contextmanager
def _sampler(measures_idle: bool = False) -> Iterator[_Sampler]:
    options = SamplerOptions(
        machine=MachineOptions(cpus=str(CPU)),
        interval_s=0.5,
        idle_probe=measures_idle,
        allowed=frozenset(os.sched_getaffinity(0)),
        observer=os.getpid(),
    )
    process = _Sampler(options.command(), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def _frame_when(sampler: _Sampler, *states: str) -> tuple[Frame, CpuLine]:
    """Return the first frame in which the idle probe has one of these states, and its line of the CPU."""
    deadline_s = time.monotonic() + _TIMEOUT_S
    while time.monotonic() < deadline_s:
        frame = sampler.frame()
        line = next(line for line in frame.cpus if line.cpu == CPU)
        if line.idle_probe in states:
            return frame, line
    raise AssertionError(f"the idle probe never was in the state {' or '.join(states)}")


def _frame_when_quiet(sampler: _Sampler) -> tuple[Frame, CpuLine]:
    """Return the first frame in which the idle probe measures; skip the test if other processes use the CPU."""
    try:
        return _frame_when(sampler, "measures")
    except AssertionError:
        _, line = _frame_when(sampler, "busy", "was busy", "measures")
        if line.idle_probe == "measures":
            raise
        pytest.skip(f"others use CPU {CPU} all the time")


def test_the_idle_probe_yields_to_a_benchmark_and_resumes() -> None:
    with _sampler(measures_idle=True) as sampler:
        frame, line = _frame_when_quiet(sampler)
        assert (line.measured_ns or 0) > 0
        assert 0 <= (line.measured_stolen_share or 0.0) <= 1
        own = {sampler.pid, *descendants_of(sampler.pid)}  # another noisewatch may be a culprit
        assert len(own) == 3
        assert [culprit for culprit in frame.culprits if culprit.pid in own] == []
        with noise(LOOP) as benchmark:
            frame, line = _frame_when(sampler, "busy")
            assert line.measured_stolen_share is None
            while benchmark.pid not in {culprit.pid for culprit in frame.culprits}:
                frame, _ = _frame_when(sampler, "busy")
        _frame_when(sampler, "measures")


def test_the_idle_probe_is_switched_through_standard_input() -> None:
    with _sampler() as sampler:
        if sampler.stdin is None:
            raise AssertionError
        frame, _ = _frame_when(sampler, "off")
        assert not frame.has_idle_probe
        for is_on, states in ((True, ("starting", "measures", "busy", "was busy")), (False, ("off",))):
            sampler.stdin.write(json.dumps({"idle_probe": is_on}).encode() + b"\n")
            sampler.stdin.flush()
            frame, _ = _frame_when(sampler, *states)
            assert frame.has_idle_probe is is_on


def test_the_spinner_pauses_with_a_stopped_sampler_and_ends_with_a_killed_one() -> None:
    with _sampler(measures_idle=True) as sampler:
        _frame_when_quiet(sampler)
        pids = descendants_of(sampler.pid)
        assert len(pids) == 2  # the host, and the spinner that it forked
        sampler.send_signal(signal.SIGSTOP)
        wait_until(lambda: _switches(pids[-1]) == _switches_later(pids[-1]))
        sampler.send_signal(signal.SIGCONT)
        _frame_when(sampler, "measures")
        sampler.kill()
        wait_until(lambda: not any(is_alive(pid) for pid in pids))


def _switches(pid: int) -> int:
    with open(f"/proc/{pid}/schedstat") as schedstat:
        return int(schedstat.read().split()[2])


def _switches_later(pid: int) -> int:
    """Return the count after the spinner could have run several times."""
    time.sleep(0.5)
    return _switches(pid)
