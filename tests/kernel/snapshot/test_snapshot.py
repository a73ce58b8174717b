"""Snapshots of a machine: what is read once, what is read again, and which reasons are kept."""

from __future__ import annotations

import weakref
from collections import Counter
from contextlib import suppress

from noisewatch.errors import Malformed, Unreadable
from noisewatch.kernel.reader import Reader
from noisewatch.kernel.snapshot.snapshot import SETTINGS_LAST_NS, Snapshot, SnapshotOptions, read_snapshot
from noisewatch.kernel.tasks.threads import TaskReader
from tests.written import BARE, SECOND_NS, Files, WrittenMachine, reading, without
from tests.written.quiet_machine import ANSWERS, quiet_files

AC = "/sys/class/power_supply/AC/online"


def _snapshots(*moments: Files, seconds_between: float = 3.0) -> tuple[list[Snapshot], WrittenMachine]:
    """Return a snapshot of each moment, and the machine with the paths that were read for the last one."""
    machine = WrittenMachine(*moments, answers=ANSWERS, seconds_between=seconds_between)
    task_reader = TaskReader()
    snapshots: list[Snapshot] = []
    for number in range(len(moments)):
        if number:
            machine.advance()
            machine.reads.clear()
        snapshots.append(read_snapshot(machine, SnapshotOptions(), task_reader, snapshots[-1] if snapshots else None))
    return snapshots, machine


def _refuse(text: str) -> str:
    raise Malformed("a colour", text, 7)


def test_times_of_threads_are_read_soon_after_those_of_cpus_and_before_settings() -> None:
    _, machine = _snapshots(quiet_files())
    times = [number for number, path in enumerate(machine.reads) if path.endswith("/schedstat")]
    settings = [number for number, path in enumerate(machine.reads) if path.startswith(("/proc/irq/", "/proc/sys/vm/"))]
    assert max(times) < min(settings)


def test_each_file_is_read_at_most_once_in_a_snapshot() -> None:
    _, machine = _snapshots(quiet_files())
    assert [path for path, count in Counter(machine.reads).items() if count > 1] == []


def test_quiet_machine_has_no_reasons() -> None:
    (snapshot,), _ = _snapshots(quiet_files())
    assert snapshot.reason_by_path == {}
    assert (snapshot.target.cpus, snapshot.pin_trial.granted) == (frozenset({2, 3}), frozenset({2, 3}))


def test_settings_are_not_read_again_within_ten_seconds() -> None:
    (before, after), machine = _snapshots(quiet_files(), quiet_files() | {AC: "0\n"})
    assert AC not in machine.reads
    assert after.settings is before.settings


def test_settings_are_read_again_after_ten_seconds() -> None:
    seconds = SETTINGS_LAST_NS / SECOND_NS
    (before, after), _ = _snapshots(quiet_files(), quiet_files() | {AC: "0\n"}, seconds_between=seconds)
    assert (before.settings.mains_power.is_on, after.settings.mains_power.is_on) == (True, False)


def test_settings_are_read_again_when_a_cpu_goes_offline() -> None:
    later = quiet_files() | {"/sys/devices/system/cpu/online": "0-2\n"}
    (_, after), _ = _snapshots(quiet_files(), later)
    assert sorted(after.topology) == [0, 1, 2]
    assert after.target.cpus == {2}


def test_places_of_cpus_are_read_again_only_while_they_are_unknown() -> None:
    core = "/sys/devices/system/cpu/cpu2/topology/core_id"
    (_, after), machine = _snapshots(*[quiet_files()] * 2, seconds_between=20.0)
    assert (core in machine.reads, after.topology[2].core) == (False, 2)
    (before, after), _ = _snapshots(without(quiet_files(), core), quiet_files(), seconds_between=20.0)
    assert (before.topology[2].core, after.topology[2].core) == (None, 2)
    (before, after), _ = _snapshots(without(quiet_files(), core), quiet_files())
    assert after.topology is before.topology


def test_changed_capacity_is_read_with_the_settings() -> None:
    paths = [f"/sys/devices/system/cpu/cpu{cpu}/cpu_capacity" for cpu in range(4)]
    before, after = (dict.fromkeys(paths, f"{capacity}\n") for capacity in (512, 1024))
    (_, last), _ = _snapshots(quiet_files() | before, quiet_files() | after, seconds_between=20.0)
    assert last.topology[2].capacity == 1024


def test_file_that_interrupts_all_cpus_is_read_only_once() -> None:
    _, machine = _snapshots(*[quiet_files()] * 3, seconds_between=20.0)
    assert "/proc/cpuinfo" not in machine.reads


def test_file_that_interrupts_a_target_cpu_is_read_once_for_each_target() -> None:
    names = ("energy_perf_bias", "energy_performance_preference", "temp1_crit", "power_limit_uw", "min_freq_khz")
    _, machine = _snapshots(*[quiet_files()] * 3, seconds_between=20.0)
    assert [path for path in machine.reads if path.endswith(names) and "cpu0" not in path and "cpu1" not in path] == []
    other_target = quiet_files() | {"/sys/devices/system/cpu/isolated": "3\n"}
    _, machine = _snapshots(quiet_files(), other_target, seconds_between=20.0)
    assert "/sys/class/hwmon/hwmon1/temp1_crit" in machine.reads


def test_temperature_is_read_again_where_this_interrupts_no_target_cpu() -> None:
    path = "/sys/class/hwmon/hwmon1/temp1_input"
    assert path in _snapshots(*[quiet_files()] * 3)[1].reads
    first_is_target = quiet_files() | {"/sys/devices/system/cpu/isolated": "0,2-3\n"}
    assert path not in _snapshots(*[first_is_target] * 3)[1].reads


def test_changed_governor_is_detected_at_once() -> None:
    later = quiet_files() | {"/sys/devices/system/cpu/cpu2/cpufreq/scaling_governor": "powersave\n"}
    (_, after), _ = _snapshots(quiet_files(), later)
    assert after.frequency.cpus[2].governor == "powersave"


def test_unchanged_clock_is_the_same_record() -> None:
    (before, after), machine = _snapshots(*[quiet_files()] * 2)
    assert after.frequency.cpus[2] is before.frequency.cpus[2]
    assert "/sys/devices/system/cpu/cpu2/cpufreq/" not in machine.reads


def test_missing_governor_is_unknown_at_once() -> None:
    path = "/sys/devices/system/cpu/cpu2/cpufreq/scaling_governor"
    (_, after), _ = _snapshots(quiet_files(), without(quiet_files(), path))
    assert after.frequency.cpus[2].governor is None
    assert path in after.reason_by_path


def test_new_clock_driver_is_detected_at_once() -> None:
    files = quiet_files()
    missing = {path for path in files if "/cpu2/cpufreq/" in path}
    (before, after), _ = _snapshots({path: text for path, text in files.items() if path not in missing}, files)
    assert (before.frequency.cpus[2].governor, after.frequency.cpus[2].governor) == (None, "performance")


def test_no_process_is_read_without_a_task_reader() -> None:
    machine = WrittenMachine(quiet_files(), answers=ANSWERS)
    assert read_snapshot(machine, SnapshotOptions()).tasks is None
    assert [path for path in machine.reads if path.startswith("/proc/700")] == []


def test_requested_cpus_are_the_target() -> None:
    machine = WrittenMachine(quiet_files(), answers=ANSWERS)
    assert read_snapshot(machine, SnapshotOptions(frozenset({1}))).target.cpus == {1}


def test_reason_of_a_setting_is_kept_as_long_as_the_setting() -> None:
    broken = quiet_files() | {"/proc/irq/24/smp_affinity_list": "rubbish\n"}
    (_, after), _ = _snapshots(broken, broken)
    assert "/proc/irq/24/smp_affinity_list" in after.reason_by_path


def test_file_that_is_readable_again_has_no_reason() -> None:
    (before, after), _ = _snapshots(without(quiet_files(), "/proc/interrupts"), quiet_files())
    assert before.reason_by_path == {"/proc/interrupts": "no such file"}
    assert after.reason_by_path == {}


def test_reason_of_a_file_that_is_read_once_is_kept() -> None:
    broken = without(quiet_files(), "/proc/cpuinfo")
    snapshots, _ = _snapshots(*[broken] * 3, seconds_between=20.0)
    assert [snapshot.platform.cpu_model for snapshot in snapshots] == [None] * 3
    assert [snapshot.reason_by_path for snapshot in snapshots] == [{"/proc/cpuinfo": "no such file"}] * 3


def test_machine_without_answers_has_a_snapshot() -> None:
    (snapshot,), _ = _snapshots({})
    assert (snapshot.online.online, snapshot.interrupts, snapshot.tasks) == (None, None, None)
    assert "/proc/stat" in snapshot.reason_by_path


def test_failed_read_is_kept_with_its_reason_and_not_repeated() -> None:
    machine = WrittenMachine(BARE)
    reader = Reader(machine)
    assert [reader.text_or_none("/proc/stat") for _ in range(3)] == [None] * 3
    assert machine.reads.count("/proc/stat") == 1
    assert reader.reason_by_path == {"/proc/stat": "no such file"}


def test_failed_read_keeps_nothing_else_alive() -> None:
    """Thousands of absent files would otherwise keep many seconds of snapshots alive, and slow garbage collection."""
    reader = reading({})
    assert reader.parse("/proc/x", int) is None
    assert reader.names_or_none("/proc/y") is None
    for _ in range(2):
        with suppress(Unreadable):
            reader.text("/proc/x")
    reader_reference = weakref.ref(reader)
    del reader
    assert reader_reference() is None


def test_optional_file_has_no_reason() -> None:
    reader = reading({})
    assert reader.text_or_none("/proc/stat", expected=False) is None
    assert reader.reason_by_path == {}
    assert reader.text_or_none("/proc/stat") is None
    assert list(reader.reason_by_path) == ["/proc/stat"]


def test_malformed_optional_file_has_a_reason() -> None:
    reader = reading({"/proc/x": "red"})
    assert reader.parse("/proc/x", _refuse, expected=False) is None
    assert reader.reason_by_path["/proc/x"].endswith("7: expected a colour, found 'red'")


def test_file_is_absent_only_if_the_kernel_denies_it() -> None:
    assert reading({}).is_absent("/proc/x")
    assert not reading({}, is_copy=True).is_absent("/proc/x")
    assert not reading({"/proc/x": ""}).is_absent("/proc/x")


def test_invalid_bytes_are_read_as_replacements() -> None:
    assert reading({"/proc/x": "a\udcffb"}).text("/proc/x") == "a\ufffdb"


def test_unanswered_question_is_none_with_the_reason() -> None:
    reader = reading({})
    assert reader.ask("the colour", lambda: "red") is None
    assert reader.reason_by_path == {"the colour": "not written down"}


def test_error_names_the_expected_value_and_quotes_the_text_in_short() -> None:
    assert str(Malformed("a number", "x" * 99, 3).at("/a")) == f"/a:3: expected a number, found '{'x' * 40}…'"
    assert str(Malformed("a number", "x")) == "expected a number, found 'x'"
    assert str(Unreadable("/a", "permission denied")) == "/a: permission denied"
