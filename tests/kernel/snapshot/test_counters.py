"""Counters at the ends of a repetition, combined with a look."""

from __future__ import annotations

from noisewatch.kernel.snapshot.counters import read_counters
from noisewatch.kernel.snapshot.snapshot import SnapshotOptions, read_snapshot
from noisewatch.kernel.tasks.threads import TaskReader
from noisewatch.model.interval.interval import interval_between
from tests.written import Files, WrittenMachine
from tests.written.quiet_machine import ANSWERS, quiet_files
from tests.written.repetitions import MS, ran


def _machine(*moments: Files) -> WrittenMachine:
    return WrittenMachine(*(quiet_files(3.0 * at) | dict(files) for at, files in enumerate(moments)), answers=ANSWERS)


def test_counters_match_a_snapshot_of_the_same_moment() -> None:
    machine = _machine(ran(), ran({2: 70}, 3.0))
    look = read_snapshot(machine, SnapshotOptions(), TaskReader())
    machine.advance()
    marked, whole = read_counters(machine).merge_into(look), read_snapshot(machine, SnapshotOptions())
    for name in ("taken_at_ns", "cpu_time", "run_time", "interrupts", "softirqs", "tasks"):
        assert getattr(marked, name) == getattr(whole, name), name
    assert marked.topology == look.topology


def test_only_files_with_counters_are_read() -> None:
    machine = _machine(ran())
    machine.reads.clear()
    read_counters(machine)
    read = {path for path in machine.reads if not path.endswith("/")}
    assert read >= {"/proc/stat", "/proc/interrupts", "/proc/softirqs"}
    assert not [path for path in read if path.startswith(("/sys/devices", "/proc/irq", "/proc/700"))]


def test_interval_between_counters_has_loads_and_no_threads() -> None:
    machine = _machine(ran(), ran({2: 70}, 3.0))
    look = read_snapshot(machine, SnapshotOptions(), TaskReader())
    first = read_counters(machine)
    machine.advance()
    span = interval_between(first.merge_into(look), read_counters(machine, first).merge_into(look))
    assert span.load_by_cpu[2].exact_tasks_ns == 70 * MS
    assert span.runs == ()


def test_unreadable_counter_is_unknown_with_its_reason() -> None:
    machine = _machine(ran() | {"/proc/stat": "rubbish\n", "/proc/softirqs": "rubbish\n"})
    counters = read_counters(machine)
    assert (counters.cpu_time, counters.softirqs) == (None, None)
    look = read_snapshot(_machine(ran()), SnapshotOptions())
    assert {"/proc/stat", "/proc/softirqs"} <= counters.merge_into(look).reason_by_path.keys()


def test_counter_that_is_readable_again_has_no_reason() -> None:
    look = read_snapshot(_machine(ran() | {"/proc/stat": "rubbish\n"}), SnapshotOptions())
    assert "/proc/stat" in look.reason_by_path
    assert "/proc/stat" not in read_counters(_machine(ran())).merge_into(look).reason_by_path
