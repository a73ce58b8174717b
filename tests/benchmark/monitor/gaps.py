"""The noise on a target CPU, measured by a spinner, with the monitor and without."""

from __future__ import annotations

import os
import signal
import time

import psutil

from tests.benchmark.monitor.monitors import NOISEWATCH, WIDE
from tests.benchmark.monitor.terminal import in_a_terminal
from tests.benchmark.paired import paired_ratio, spin
from tests.live.noise import CPU

_ROUND_S = 2.0
_LONGEST_HANDLER_NS = 100_000  # a longer gap without another thread is the hypervisor's
_SETTLING_S = 4.0
_PAUSE_S = 0.2


def print_gaps(rounds: int) -> None:
    """Print the ratio of noise while the monitor runs and while it is stopped, alternately."""
    if len(os.sched_getaffinity(0)) < 2:
        print("\nno CPU is left for the monitor: nothing to compare")
        return
    with in_a_terminal((*NOISEWATCH, "--cpus", str(CPU)), *WIDE) as terminal:
        time.sleep(_SETTLING_S)
        program = psutil.Process(terminal.process.pid)
        pids = [program.pid, *(child.pid for child in program.children(recursive=True))]
        try:
            ratio = paired_ratio(lambda is_watched: _stolen_share(pids, is_watched), rounds)
        finally:
            _signal(pids, signal.SIGCONT)
    print(f"\nCPU {CPU}, noise watched / not watched, without the hypervisor's: {ratio}")


def _stolen_share(pids: list[int], is_watched: bool) -> float:
    _signal(pids, signal.SIGCONT if is_watched else signal.SIGSTOP)
    time.sleep(_PAUSE_S)
    (samples,) = spin(CPU, _ROUND_S).cpus
    pairs = zip(samples.gaps.length_ns, samples.gaps.switches, strict=True)
    return sum(ns for ns, switches in pairs if switches or ns < _LONGEST_HANDLER_NS) / samples.spun_ns


def _signal(pids: list[int], number: signal.Signals) -> None:
    for pid in pids:
        os.kill(pid, number)
