"""Reading across snapshots: recurring files are read together, and unchanged files are not parsed again."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from noisewatch.errors import Unreadable
from noisewatch.kernel.reader import NOT_ASKED, EarlierSnapshots, Reader, Spared, may_interrupt
from noisewatch.kernel.tasks.threads import TaskReader
from tests.written import Files, WrittenMachine
from tests.written.quiet_machine import process

_ASKS_A_CPU = "/sys/devices/system/cpu/cpu2/power/energy_perf_bias"


class _Rereading(WrittenMachine):
    """A machine whose `reread` returns changed files only, as this host's does; `together` lists its paths."""

    def __init__(self, *moments: Files) -> None:
        super().__init__(*moments)
        self.together: list[str] = []

    def reread(self, files: Sequence[tuple[str, bytes | None]]) -> list[tuple[int, bytes | None]]:
        self.together += [path for path, _ in files]
        current = self._moments[self._at]
        contents = [(at, current[path].encode() if path in current else None) for at, (path, _) in enumerate(files)]
        return [(at, content) for at, content in contents if content is None or content != files[at][1]]


def _read(machine: WrittenMachine, earlier: EarlierSnapshots, paths: Sequence[str], release: int = 5) -> list[str]:
    """Return the text of each path in one snapshot."""
    reader = Reader(machine, earlier)
    reader.spared = Spared(None, (release, 0))
    reader.reread()
    texts = [reader.text(path) for path in paths]
    reader.end()
    return texts


def test_files_of_two_snapshots_are_read_together_in_the_third() -> None:
    files = {"/proc/a": "1\n", "/proc/b": "2\n"}
    machine, earlier = _Rereading(files, files, files, {**files, "/proc/a": "7\n"}), EarlierSnapshots()
    together = []
    for expected in (["1\n", "2\n"], ["1\n", "2\n"], ["1\n", "2\n"], ["7\n", "2\n"]):
        machine.together.clear()
        assert _read(machine, earlier, list(files)) == expected
        together.append(list(machine.together))
        if machine.has_next:
            machine.advance()
    assert together == [[], [], ["/proc/a", "/proc/b"], ["/proc/a", "/proc/b"]]


def test_file_that_is_no_longer_requested_is_no_longer_read() -> None:
    machine, earlier = _Rereading({"/proc/a": "1\n", "/proc/b": "2\n"}), EarlierSnapshots()
    for paths in (["/proc/a", "/proc/b"], ["/proc/a", "/proc/b"], ["/proc/a"], ["/proc/a"]):
        machine.together.clear()
        _read(machine, earlier, paths)
    assert machine.together == ["/proc/a"]


def test_truncated_or_removed_file_is_unknown() -> None:
    path = "/sys/x"
    machine, earlier = (
        _Rereading(*[{path: "12\n", "/sys/y": "1\n"}] * 2, {path: "1"}, {"/sys/y": "1\n"}),
        EarlierSnapshots(),
    )
    for _ in range(2):
        _read(machine, earlier, [path])
        machine.advance()
    for _ in range(2):
        reader = Reader(machine, earlier)
        reader.reread()
        assert reader.text_or_none(path) is None
        reader.end()
        if machine.has_next:
            machine.advance()


def test_file_that_interrupts_a_cpu_is_not_read_together_with_others() -> None:
    machine, earlier = _Rereading({_ASKS_A_CPU: "0\n", "/proc/a": "1\n"}), EarlierSnapshots()
    for _ in range(2):
        reader = Reader(machine, earlier)
        assert reader.text(_ASKS_A_CPU) == "0\n"
        reader.end()
    _read(machine, earlier, ["/proc/a"])
    assert _ASKS_A_CPU not in machine.together


@pytest.mark.parametrize(("second", "times"), [("1\n", 1), ("2\n", 2)])
def test_unchanged_file_is_parsed_once(second: str, times: int) -> None:
    parsed: list[str] = []

    def parse(text: str) -> int:
        parsed.append(text)
        return int(text)

    machine, earlier = WrittenMachine({"/proc/a": "1\n"}, {"/proc/a": second}), EarlierSnapshots()
    assert Reader(machine, earlier).parse("/proc/a", parse) == 1
    machine.advance()
    assert Reader(machine, earlier).parse("/proc/a", parse) == int(second)
    assert len(parsed) == times


def test_another_parser_of_the_same_file_is_called() -> None:
    machine, earlier = WrittenMachine({"/proc/a": "1\n"}), EarlierSnapshots()
    assert Reader(machine, earlier).parse("/proc/a", int) == 1
    assert Reader(machine, earlier).parse("/proc/a", str) == "1\n"


def _group(pid: int, threads: dict[int, int]) -> dict[str, str]:
    """Return the files of a process with these threads and their run times; the first thread is the process's own."""
    files = process(pid, "group", 0, threads[pid], threads=len(threads))
    for tid, ran_ns in threads.items():
        own = process(tid, "group", 0, ran_ns)
        files |= {path.replace(f"/proc/{tid}/", f"/proc/{pid}/task/{tid}/"): text for path, text in own.items()}
    return files


def _times(machine: WrittenMachine, snapshots: int) -> list[dict[int, int]]:
    task_reader, times = TaskReader(), []
    for _ in range(snapshots):
        tasks = task_reader.read(Reader(machine), frozenset({2}))
        assert tasks is not None
        assert tasks.is_complete
        times.append({tid: task.ran_ns for tid, task in tasks.by_tid.items()})
        if machine.has_next:
            machine.advance()
    return times


def test_threads_of_a_resting_process_are_not_read() -> None:
    machine = _Rereading({**process(9, "x", 0, 5), **_group(20, {20: 1, 21: 2})})
    assert _times(machine, 3) == [{9: 5, 20: 1, 21: 2}] * 3
    machine.reads.clear()
    task_reader = TaskReader()
    for _ in range(3):
        machine.reads.clear()
        task_reader.read(Reader(machine), frozenset({2}))
    assert machine.reads == ["/proc/"]


def test_threads_that_ran_started_or_ended_are_detected() -> None:
    moments = [
        {**process(9, "x", 0, 5), **_group(20, {20: 1, 21: 2})},
        {**process(9, "x", 0, 5), **_group(20, {20: 1, 21: 2})},
        {**process(9, "x", 0, 6), **_group(20, {20: 1, 21: 2})},
        {**process(9, "x", 0, 6), **_group(20, {20: 1, 21: 3, 22: 1})},
        {**process(9, "x", 0, 6), **_group(20, {20: 1, 21: 3, 22: 1})},
        {**process(9, "x", 0, 6), **_group(20, {20: 1, 21: 3})},
        _group(20, {20: 1, 21: 3}),
    ]
    expected = [
        {9: 5, 20: 1, 21: 2},
        {9: 5, 20: 1, 21: 2},
        {9: 6, 20: 1, 21: 2},
        {9: 6, 20: 1, 21: 3, 22: 1},
        {9: 6, 20: 1, 21: 3, 22: 1},
        {9: 6, 20: 1, 21: 3},
        {20: 1, 21: 3},
    ]
    assert _times(_Rereading(*moments), len(moments)) == expected
    assert _times(WrittenMachine(*moments), len(moments)) == expected


def test_threads_of_a_process_are_listed_again_after_the_first_look() -> None:
    """A thread that started while the others were being read does not make them run again."""
    moments = [_group(20, {20: 1, 21: 2}), _group(20, {20: 1, 21: 2, 22: 9})]
    assert _times(_Rereading(*moments), 2) == [{20: 1, 21: 2}, {20: 1, 21: 2, 22: 9}]


def test_newly_hidden_file_is_unknown_at_once_and_not_absent() -> None:
    machine, earlier = WrittenMachine({"/sys/kernel/a": "1\n"}, {"/sys/block/a": "1\n"}), EarlierSnapshots()
    assert Reader(machine, earlier).is_absent("/sys/kernel/b")
    machine.advance()
    assert not Reader(machine, earlier).is_absent("/sys/kernel/b")


def test_value_of_a_file_that_is_no_longer_requested_is_forgotten() -> None:
    """Cgroups, with a folder each, come and go for as long as noisewatch runs."""
    earlier = EarlierSnapshots()
    parsed: list[str] = []
    for _ in range(3):
        earlier.begin_settings()
        earlier.parse("/sys/stays", b"1", parsed.append)
    earlier.parse("/sys/goes", b"2", parsed.append)
    for _ in range(2):
        earlier.begin_settings()
    earlier.parse("/sys/goes", b"2", parsed.append)
    assert parsed == ["1", "2", "2"]


CPUS = "/sys/devices/system/cpu"
_OLD, _NEW = (5, 18), (5, 19)


@pytest.mark.parametrize("release", [_OLD, _NEW])
@pytest.mark.parametrize(
    "path",
    [
        f"{CPUS}/cpu2/cpufreq/cpuinfo_cur_freq",
        f"{CPUS}/cpu2/cpufreq/base_frequency",
        f"{CPUS}/cpu2/cpufreq/energy_performance_preference",
        f"{CPUS}/cpu2/acpi_cppc/nominal_freq",
        f"{CPUS}/cpu2/power/energy_perf_bias",
        "/dev/cpu/2/msr",
    ],
)
def test_file_that_queries_a_cpu_interrupts_this_cpu_only(path: str, release: tuple[int, int]) -> None:
    assert may_interrupt(path, {2, 3}, release)
    assert may_interrupt(path, None, release)
    assert not may_interrupt(path, {3}, release)


@pytest.mark.parametrize(
    "path",
    [
        "/sys/class/powercap/intel-rapl:0/constraint_0_power_limit_uw",
        "/sys/class/powercap/intel-rapl:0/energy_uj",
        f"{CPUS}/intel_uncore_frequency/package_00_die_00/max_freq_khz",
        "/sys/class/thermal/thermal_zone0/temp",
    ],
)
def test_file_that_one_of_several_cpus_answers_may_interrupt_any(path: str) -> None:
    assert may_interrupt(path, {3}, _NEW)


@pytest.mark.parametrize("path", [f"{CPUS}/cpu2/cpufreq/scaling_cur_freq", "/proc/cpuinfo"])
def test_clocks_are_read_without_an_interrupt_since_linux_5_19(path: str) -> None:
    assert may_interrupt(path, {2}, _OLD)
    assert may_interrupt(path, {2}, None)
    assert not may_interrupt(path, {2}, _NEW)


@pytest.mark.parametrize(
    "path", [f"{CPUS}/cpu2/cpufreq/scaling_max_freq", f"{CPUS}/online", "/proc/interrupts", "/sys/class/thermal/x/type"]
)
def test_file_that_the_kernel_remembers_interrupts_no_cpu(path: str) -> None:
    assert not may_interrupt(path, None, None)


def test_reader_does_not_query_a_spared_cpu_and_notes_the_reason() -> None:
    path, other = (f"{CPUS}/cpu{cpu}/power/energy_perf_bias" for cpu in (2, 3))
    machine = WrittenMachine({path: "0\n", other: "0\n"})
    reader = Reader(machine)
    reader.spared = Spared(frozenset({2}), _NEW)
    assert reader.text(other) == "0\n"
    with pytest.raises(Unreadable, match="not read"):
        reader.text(path)
    assert machine.reads == [other]
    assert set(reader.reason_by_path.values()) == {NOT_ASKED}
