"""Whether a target CPU feels the monitor: the noise that a spinner on it measures, with the monitor and without."""

from __future__ import annotations

import os
import signal
import time

import psutil

from tests.benchmark.monitor.monitors import NOISEWATCH, WIDE
from tests.benchmark.monitor.terminal import in_a_terminal
from tests.benchmark.paired import paired_ratio, spun
from tests.live.noise import CPU

_ROUND_S = 2.0
_LONGEST_HANDLER_NS = 100_000  # what takes longer, and no other thread ran, the kernel did not do: the hypervisor did
_SETTLING_S = 4.0
_PAUSE_S = 0.2


def print_gaps(rounds: int) -> None:
    """The monitor goes on and is stopped alternately; stopped, it takes no time at all."""
    if len(os.sched_getaffinity(0)) < 2:
        print("\nno CPU is left for the monitor: nothing to tell apart")
        return
    with in_a_terminal((*NOISEWATCH, "--cpus", str(CPU)), *WIDE) as terminal:
        time.sleep(_SETTLING_S)
        program = psutil.Process(terminal.process.pid)
        pids = [program.pid, *(each.pid for each in program.children(recursive=True))]
        try:
            ratio = paired_ratio(lambda is_watched: _stolen_share(pids, is_watched), rounds)
        finally:
            _signal(pids, signal.SIGCONT)
    print(f"\nCPU {CPU}, noise watched / not watched, without the hypervisor's: {ratio}")


def _stolen_share(pids: list[int], is_watched: bool) -> float:
    _signal(pids, signal.SIGCONT if is_watched else signal.SIGSTOP)
    time.sleep(_PAUSE_S)
    (said,) = spun(CPU, _ROUND_S).cpus
    pairs = zip(said.gaps.length_ns, said.gaps.switches, strict=True)
    return sum(ns for ns, switches in pairs if switches or ns < _LONGEST_HANDLER_NS) / said.spun_ns


def _signal(pids: list[int], number: signal.Signals) -> None:
    for pid in pids:
        os.kill(pid, number)
