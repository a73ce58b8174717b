"""What a command used: its own, not what it took to start it."""

from __future__ import annotations

import os
import resource
import threading
import time

from noisewatch.machine.command import load_launching
from noisewatch.machine.command.ending import EndedCommand, ResourceUsage
from noisewatch.machine.command.running import Commands, StartedCommand
from noisewatch.machine.command.start import CommandPlan
from tests.machine.command.wrapped import CORES, each_core

_NOTHING_TO_RUN = 200  # page faults: a copy of this process makes 270 and more


def _run(core: str, *argv: str) -> tuple[StartedCommand, EndedCommand]:
    with Commands(core=load_launching(core)) as commands:
        command = commands.start(CommandPlan(argv=argv))
        ended = command.wait()
    assert ended is not None
    return command, ended


def test_usages_add_up() -> None:
    one, other = ResourceUsage(1, 2, 3, 4, 5, 6, 7, 8), ResourceUsage(10, 20, 30, 40, 50, 60, 70, 80)
    assert one.plus(other) == ResourceUsage(11, 22, 33, 44, 55, 66, 77, 88)
    assert one.plus(other).less(one) == other
    assert (one.cpu_ns, ResourceUsage().cpu_ns) == (3, 0)


def test_starting_it_is_not_counted() -> None:
    tries = range(5)  # the kernel may take pages away at any time, which only adds to them
    faults = [min(_run(core, "true")[1].usage.minor_faults for _ in tries) for core in CORES]
    assert max(faults) < min(faults) + _NOTHING_TO_RUN


@each_core
def test_its_times_are_those_of_the_kernel(core: str) -> None:
    earlier_ns = time.monotonic_ns()
    command, ended = _run(core, "sh", "-c", "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done")
    assert earlier_ns < command.began_ns < ended.ended_ns < time.monotonic_ns()
    assert 5_000_000 < ended.usage.cpu_ns < ended.ended_ns - command.began_ns
    assert 0 < command.launch_cpu_ns < 1_000_000_000
    assert (ended.usage.major_faults, ended.stop_count, ended.stopped_ns) == (ended.usage.major_faults, 0, 0)


@each_core
def test_a_size_below_our_own_is_unknown(core: str) -> None:
    own_bytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    assert _run(core, "true")[1].max_rss_bytes is None
    wanted = own_bytes + (64 << 20)
    grows = f"bytearray(b'x') * {wanted}"
    found = _run(core, "python3", "-I", "-S", "-c", grows)[1].max_rss_bytes
    assert found is not None
    assert wanted <= found < wanted + (64 << 20)


@each_core
def test_it_is_waited_for_no_longer_than_wanted(core: str) -> None:
    with Commands(core=load_launching(core)) as commands:
        command = commands.start(CommandPlan(argv=("sleep", "60")))
        until_ns = time.monotonic_ns() + 50_000_000
        assert command.wait(until_ns) is None
        assert until_ns <= time.monotonic_ns() < until_ns + 10_000_000_000
        assert command.wait(0) is None
        os.kill(command.pid, 9)
        ended = command.wait()
        assert ended is not None
        assert (ended.signal_number, command.wait()) == (9, ended)
        assert commands.pause(time.monotonic_ns() + 1_000_000)


@each_core
def test_its_end_is_seen_though_another_thread_takes_the_signal(core: str) -> None:
    is_over = threading.Event()
    taker = threading.Thread(target=is_over.wait)
    taker.start()
    try:
        with Commands(core=load_launching(core)) as commands:
            command = commands.start(CommandPlan(argv=("sleep", "0.05")))
            ended = command.wait(time.monotonic_ns() + 10_000_000_000)
    finally:
        is_over.set()
        taker.join()
    assert ended is not None
    assert ended.ended_ns - command.began_ns < 5_000_000_000


@each_core
def test_the_cpus_that_it_could_run_on_in_the_end_are_those_that_it_chose_itself(core: str) -> None:
    own = frozenset(os.sched_getaffinity(0))
    chosen = min(own)
    chooses = f"import os; os.sched_setaffinity(0, {{{chosen}}})"
    assert _run(core, "true")[1].allowed == own
    assert _run(core, "python3", "-I", "-S", "-c", chooses)[1].allowed == frozenset({chosen})
