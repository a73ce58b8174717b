"""Counters of a command: what they include, when none is opened, and why they are missing."""

from __future__ import annotations

import errno
import os
import platform
import re
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
    *measured, (counts, cpu_ns) = _counts(_python(threads), _python(_LOOP.format(0.02)), ["true"])
    true_ns = counts.value(Event.CPU_TIME)
    assert counts.unknown is None
    assert true_ns is not None
    assert 0 < true_ns <= 1.1 * cpu_ns + 1_000_000
    # Only the kernel's usage contains the time in which execve frees the memory of the process that starts commands.
    freeing_ns = max(cpu_ns - true_ns, 0)
    for counts, cpu_ns in measured:
        assert counts.unknown is None
        counted_ns = counts.value(Event.CPU_TIME)
        assert counted_ns is not None
        assert 0.9 * cpu_ns - 2_000_000 - freeing_ns <= counted_ns <= 1.1 * cpu_ns + 1_000_000


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


@pytest.mark.usefixtures("of_software")
def test_counters_are_closed_with_or_without_a_command() -> None:
    before = set(os.listdir("/proc/self/fd"))
    with CommandCounter() as counter:
        kept = set(os.listdir("/proc/self/fd"))
        counter.begin()
        counter.end()
        assert set(os.listdir("/proc/self/fd")) == kept
        counter.begin()
    assert set(os.listdir("/proc/self/fd")) == before


def test_without_a_counter_of_cycles_nothing_is_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    _fail_with(monkeypatch, errno.ENOENT, {Event.CYCLES, Event.INSTRUCTIONS})
    before = set(os.listdir("/proc/self/fd"))
    with CommandCounter() as counter:
        counter.begin()
        assert set(os.listdir("/proc/self/fd")) == before
        counts = counter.end()
    assert counts.counts == {}
    assert counts.unknown == "this machine has no hardware counters (PMU), like most virtual machines"


@pytest.mark.parametrize(
    ("number", "reason"),
    [
        *((number, "no hardware counters") for number in (errno.ENODEV, errno.EOPNOTSUPP, errno.ENXIO)),
        (errno.EACCES, "kernel.perf_event_paranoid forbids counting"),
        (errno.EPERM, "a seccomp filter or security module"),
        (errno.ENOSYS, "perf_event_open is not available"),
        (errno.EMFILE, "too many open files"),
    ],
)
def test_each_failure_has_its_reason(monkeypatch: pytest.MonkeyPatch, number: int, reason: str) -> None:
    _fail_with(monkeypatch, number, set(Event))
    with CommandCounter() as counter:
        assert reason in (counter.unknown or "")


@pytest.mark.parametrize("event", [Event.CYCLES, Event.INSTRUCTIONS])
def test_cycles_and_instructions_are_required(monkeypatch: pytest.MonkeyPatch, event: Event) -> None:
    monkeypatch.setattr(CommandCounter, "_open_event", lambda *_: os.open(os.devnull, os.O_RDONLY))
    with CommandCounter() as counter:
        assert counter.unknown is None
    _fail_with(monkeypatch, errno.ENOENT, {event})
    with CommandCounter() as counter:
        assert "no hardware counters" in (counter.unknown or "")


def test_an_unknown_machine_has_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "mips")
    with CommandCounter() as counter:
        assert counter.unknown == "perf_event_open is not available"


def test_the_kernels_error_is_reported() -> None:
    with pytest.raises(OSError, match=r"\w") as caught:
        CommandCounter()._open_event(Event.CPU_TIME, 1 << 63)  # a flag that no kernel has
    assert caught.value.errno


def test_no_event_is_opened_unless_requested(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CommandCounter, "_open_event", lambda *_: pytest.fail("an event was opened"))
    with CommandCounter(is_requested=False) as counter:
        counter.begin()
        assert counter.end() == counting.UNCOUNTED


@pytest.mark.parametrize("number", [errno.EACCES, errno.EPERM])
@pytest.mark.usefixtures("of_software")
def test_a_kernel_that_forbids_its_own_events_counts_user_code(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    open_event = CommandCounter._open_event

    def refuse_kernel(self: CommandCounter, event: Event, flags: int) -> int:
        if not flags & counting._EXCLUDE_KERNEL:
            raise OSError(number, os.strerror(number))
        return open_event(self, Event.CPU_TIME if event == Event.CYCLES else event, flags)

    monkeypatch.setattr(CommandCounter, "_open_event", refuse_kernel)
    (counts, _), *_ = _counts(["true"])
    assert counts.is_user_only
    assert counts.value(Event.CYCLES)
    assert counts.value(Event.MIGRATIONS) is None, "an event inside the kernel would always count 0"


@pytest.mark.parametrize(
    ("partly", "words"),
    [(Event.CPU_TIME, "hardware events were counted for only 80% of the time"), (Event.MIGRATIONS, "")],
)
def test_required_counts_of_a_part_of_the_time_explain_nothing(
    monkeypatch: pytest.MonkeyPatch, partly: Event, words: str
) -> None:
    monkeypatch.setattr(counting, "_REQUIRED", {Event.CPU_TIME, Event.USER_INSTRUCTIONS})
    monkeypatch.setattr(CommandCounter, "_open_event", lambda *_: os.open(os.devnull, os.O_RDONLY))
    with CommandCounter() as counter:
        counter.begin()
        file = counter._open[partly]
        monkeypatch.setattr(counting, "_read", lambda other: EventCount(100, 0.8 if other == file else 1.0))
        counts = counter.end()
    assert counts.value(partly) == 100
    assert (counts.unknown or "").startswith(words)
    assert bool(counts.unknown) == bool(words)


def test_shared_counters_are_scaled(tmp_path: Path) -> None:
    file = tmp_path / "event"
    file.write_bytes(counting._COUNT.pack(100, 1_000, 250))
    descriptor = os.open(file, os.O_RDONLY)
    assert counting._read(descriptor) == EventCount(400, 0.25)
    os.close(descriptor)


def test_a_counter_that_cannot_be_read_has_no_count(tmp_path: Path) -> None:
    (tmp_path / "event").touch()
    for path in (tmp_path / "event", tmp_path):  # a file without three values, and a folder
        descriptor = os.open(path, os.O_RDONLY)
        assert counting._read(descriptor) is None
        os.close(descriptor)


_HEADER = Path("/usr/include/linux/perf_event.h")
_NAMES = {
    Event.CYCLES: ("PERF_TYPE_HARDWARE", "PERF_COUNT_HW_CPU_CYCLES"),
    Event.INSTRUCTIONS: ("PERF_TYPE_HARDWARE", "PERF_COUNT_HW_INSTRUCTIONS"),
    Event.USER_INSTRUCTIONS: ("PERF_TYPE_HARDWARE", "PERF_COUNT_HW_INSTRUCTIONS"),
    Event.CACHE_MISSES: ("PERF_TYPE_HARDWARE", "PERF_COUNT_HW_CACHE_MISSES"),
    Event.BRANCH_MISSES: ("PERF_TYPE_HARDWARE", "PERF_COUNT_HW_BRANCH_MISSES"),
    Event.CPU_TIME: ("PERF_TYPE_SOFTWARE", "PERF_COUNT_SW_TASK_CLOCK"),
    Event.MIGRATIONS: ("PERF_TYPE_SOFTWARE", "PERF_COUNT_SW_CPU_MIGRATIONS"),
}


@pytest.mark.skipif(not _HEADER.exists(), reason="the kernel's header is not installed")
def test_events_are_opened_with_the_values_of_the_kernels_header(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel's answers are made up, as this machine may have no hardware counters."""
    header = _HEADER.read_text()
    values = {name: int(value) for name, value in re.findall(r"(PERF_\w+)\s*=?\s*(\d+)\b", header)}
    bits = re.findall(r"(\w+)\s*:\s*1,", header)
    calls: list[tuple[object, ...]] = []

    def call(number: int, attributes: bytes, *others: object) -> int:
        kind, size, config, period, sampled, formats, flags = counting._ATTRIBUTES.unpack(attributes[:48])
        assert size == len(attributes) == values["PERF_ATTR_SIZE_VER0"]
        assert not any(attributes[48:])
        assert (period, sampled, formats) == (0, 0, 3)  # PERF_FORMAT_TOTAL_TIME_ENABLED and _RUNNING
        pid, cpu, group, _ = others
        assert (pid, cpu, group) == (0, -1, -1)
        calls.append((kind, config, {name for at, name in enumerate(bits) if flags >> at & 1}))
        return os.open(os.devnull, os.O_RDONLY)

    counter = CommandCounter()
    monkeypatch.setattr(counter, "_call", call)
    with counter:
        counter.begin()
    expected = []
    for begins in ({"disabled"}, {"disabled", "inherit", "enable_on_exec"}):
        for event, (kind, config) in _NAMES.items():
            user_only = {"exclude_kernel", "exclude_hv"} if event == Event.USER_INSTRUCTIONS else set()
            expected.append((values[kind], values[config], begins | user_only))
    assert calls == expected


@pytest.mark.parametrize(
    ("machine", "header"),
    [("x86_64", "x86_64-linux-gnu/asm/unistd_64.h"), ("aarch64", "asm-generic/unistd.h")],
)
def test_system_call_has_the_number_of_the_kernels_header(machine: str, header: str) -> None:
    path = Path("/usr/include", header)
    if not path.exists():
        pytest.skip("the kernel's headers are not installed")
    number = re.search(r"__NR_perf_event_open (\d+)", path.read_text())
    assert number is not None
    assert counting._OPEN[machine] == int(number[1])


def _fail_with(monkeypatch: pytest.MonkeyPatch, number: int, events: set[Event]) -> None:
    open_event = CommandCounter._open_event

    def fail(self: CommandCounter, event: Event, flags: int) -> int:
        if event in events:
            raise OSError(number, os.strerror(number))
        return open_event(self, event, flags)

    monkeypatch.setattr(CommandCounter, "_open_event", fail)
