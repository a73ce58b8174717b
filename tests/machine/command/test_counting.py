"""Counters of a command: what they include, what they cost nothing for, and why they are missing."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from noisewatch.machine.command import counting
from noisewatch.machine.command.counting import CommandCounter, CommandCounts, Event, EventCount
from noisewatch.machine.command.running import Commands
from noisewatch.machine.command.start import CommandPlan, inherited_state

_LOOP = "import time\nuntil = time.process_time() + {}\nwhile time.process_time() < until: pass"


@pytest.fixture
def of_software(monkeypatch: pytest.MonkeyPatch) -> None:
    """Require only the CPU time, an event that every kernel counts, to test the counters without a PMU."""
    monkeypatch.setattr(counting, "_REQUIRED", {Event.CPU_TIME})


def _counts(*commands: list[str]) -> Iterator[tuple[CommandCounts, int]]:
    """Yield the counts of each command, and its CPU time by the kernel's accounting (ns)."""
    with Commands(inherited_state()) as running, CommandCounter() as counter:
        for argv in commands:
            counter.begin()
            end = running.start(CommandPlan(argv=tuple(argv))).wait()
            counts = counter.end()
            assert end is not None
            yield counts, end.usage.cpu_ns


def _python(code: str) -> list[str]:
    return [sys.executable, "-S", "-c", code]


@pytest.mark.usefixtures("of_software")
def test_threads_and_children_are_counted_and_earlier_commands_are_not() -> None:
    threads = (
        f"import threading, subprocess, sys\ncode = {_LOOP.format(0.05)!r}\n"
        "subprocess.run([sys.executable, '-S', '-c', code])\n"
        f"thread = threading.Thread(target=exec, args=({_LOOP.format(0.1)!r}, {{}}))\nthread.start()\nthread.join()"
    )
    for counts, cpu_ns in _counts(_python(threads), _python(_LOOP.format(0.02)), ["true"]):
        assert counts.unknown is None
        counted_ns = counts.value(Event.CPU_TIME)
        assert counted_ns is not None
        assert 0.9 * cpu_ns - 2_000_000 <= counted_ns <= 1.1 * cpu_ns + 1_000_000


@pytest.mark.usefixtures("of_software")
def test_nothing_of_the_caller_is_counted() -> None:
    with CommandCounter() as counter:
        counter.begin()
        sum(range(10**6))
        assert counter.end().counts == {}


@pytest.mark.usefixtures("of_software")
def test_a_command_has_no_descriptor_of_the_counters() -> None:
    before = set(os.listdir("/proc/self/fd"))
    with Commands(inherited_state()) as running, CommandCounter() as counter:
        counter.begin()
        end = running.start(CommandPlan(argv=("sh", "-c", "! readlink /proc/self/fd/* | grep perf"))).wait()
        assert end is not None
        assert end.exit_status == 0
        counter.end()
    assert set(os.listdir("/proc/self/fd")) == before


def test_without_a_counter_of_cycles_nothing_is_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    _fail_with(monkeypatch, errno.ENOENT, {Event.CYCLES, Event.INSTRUCTIONS})
    before = set(os.listdir("/proc/self/fd"))
    with CommandCounter() as counter:
        counter.begin()
        assert set(os.listdir("/proc/self/fd")) == before
        counts = counter.end()
    assert counts.counts == {}
    assert counts.unknown == "this machine has no hardware counters (PMU), as most virtual machines"


@pytest.mark.parametrize(
    ("number", "reason"),
    [
        (errno.EACCES, "kernel.perf_event_paranoid forbids it"),
        (errno.EPERM, "a seccomp filter or security module"),
        (errno.ENOSYS, "perf_event_open is not available"),
        (errno.EMFILE, "too many open files"),
    ],
)
def test_each_failure_has_its_reason(monkeypatch: pytest.MonkeyPatch, number: int, reason: str) -> None:
    _fail_with(monkeypatch, number, set(Event))
    with CommandCounter() as counter:
        assert reason in (counter.unknown or "")


def test_no_event_is_opened_unless_requested(monkeypatch: pytest.MonkeyPatch) -> None:
    _fail_with(monkeypatch, errno.EIO, set(Event))
    with CommandCounter(is_requested=False) as counter:
        counter.begin()
        assert counter.end() == counting.UNCOUNTED


@pytest.mark.usefixtures("of_software")
def test_a_kernel_that_forbids_its_own_events_counts_user_code(monkeypatch: pytest.MonkeyPatch) -> None:
    open_event = CommandCounter._open_event

    def refuse_kernel(self: CommandCounter, event: Event, flags: int) -> int:
        if not flags & counting._EXCLUDE_KERNEL:
            raise OSError(errno.EACCES, os.strerror(errno.EACCES))
        return open_event(self, Event.CPU_TIME if event == Event.CYCLES else event, flags)

    monkeypatch.setattr(CommandCounter, "_open_event", refuse_kernel)
    (counts, _), *_ = _counts(["true"])
    assert counts.is_user_only
    assert counts.value(Event.MIGRATIONS) is None, "an event of the kernel would always be 0"


@pytest.mark.usefixtures("of_software")
def test_counts_of_a_part_of_the_time_explain_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "_read", lambda file: EventCount(100, 0.6))
    (counts, _), *_ = _counts(["true"])
    assert counts.value(Event.CPU_TIME) == 100
    assert (counts.unknown or "").startswith("they were counted for only 60% of the time")


def test_shared_counters_are_scaled(tmp_path: Path) -> None:
    file = tmp_path / "event"
    file.write_bytes(counting._COUNT.pack(100, 1_000, 250))
    descriptor = os.open(file, os.O_RDONLY)
    assert counting._read(descriptor) == EventCount(400, 0.25)
    os.close(descriptor)


def _fail_with(monkeypatch: pytest.MonkeyPatch, number: int, events: set[Event]) -> None:
    open_event = CommandCounter._open_event

    def fail(self: CommandCounter, event: Event, flags: int) -> int:
        if event in events:
            raise OSError(number, os.strerror(number))
        return open_event(self, event, flags)

    monkeypatch.setattr(CommandCounter, "_open_event", fail)
