"""During a benchmark, no screen or key reads a file of this host that interrupts a target CPU."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from textual.pilot import Pilot

from noisewatch.cpus import format_cpu_list
from noisewatch.kernel.frequency.heat import HWMON as SENSORS
from noisewatch.kernel.reader import INTRUSIVE, NOT_ASKED, may_interrupt
from noisewatch.kernel.snapshot.snapshot import SETTINGS_LAST_NS, Snapshot, SnapshotOptions, read_snapshot
from noisewatch.kernel.tasks.threads import TaskReader
from noisewatch.kinds import Tracer
from noisewatch.machine import Json
from noisewatch.operations.advise import Advice, advise
from noisewatch.operations.machines import MachineOptions
from noisewatch.operations.sampling import sample_frames
from noisewatch.operations.trace import TraceOptions, follow
from noisewatch.surfaces.tui.app.monitor import MonitorApp
from noisewatch.surfaces.tui.overlays.overlay import MachineAccess
from noisewatch.surfaces.tui.state.screen_model import Screen
from tests.operations.listening import SilentListener
from tests.surfaces.tui.app.piloting import key_of, with_monitor
from tests.surfaces.tui.framing import cpu_line, culprit, frame
from tests.written import SECOND_NS, WrittenMachine
from tests.written.quiet_machine import ANSWERS, CPUS, TARGET, process, quiet_files

_RELEASES = {"5.18.0": (5, 18), "6.14.0": (6, 14)}
_FRAMES = 5


class _Host(WrittenMachine):
    """The quiet machine as this host, with all files whose reading interrupts a CPU."""

    is_live = True

    def __init__(self, release: str, count: int = 2 * _FRAMES, seconds_between: float = 3.0) -> None:
        files = {"/proc/sys/kernel/osrelease": f"{release}\n"}
        for cpu in range(4):
            files |= {
                f"{CPUS}/cpu{cpu}/cpufreq/cpuinfo_cur_freq": "2600000\n",
                f"{CPUS}/cpu{cpu}/acpi_cppc/nominal_freq": "2600\n",
                f"{CPUS}/cpu{cpu}/acpi_cppc/highest_perf": "255\n",
                f"{CPUS}/cpu{cpu}/topology/thread_siblings_list": f"{cpu % 2},{cpu % 2 + 2}\n",
            }
        files[f"{CPUS}/cpu2/cpufreq/base_frequency"] = "2600000\n"  # without this file, nominal_freq is read
        hog = [process(900, "hog", 2, 1_000_000_000 * number, allowed="2-3") for number in range(count)]
        moments = [quiet_files(seconds_between * number) | files | hog[number] for number in range(count)]
        super().__init__(*moments, answers=ANSWERS, seconds_between=seconds_between)

    def ask(self, question: str, answer: Callable[[], Json]) -> Json:
        self.reads.append(question)
        return super().ask(question, answer)

    def intrusive(self, release: str, begin: int = 0) -> list[str]:
        """Return the reads that interrupt a target CPU.

        The package's sensor is included: the kernel reads it on CPU 0, and wakes that core.
        """
        sensors = [path for path in self.reads[begin:] if path.startswith(f"{SENSORS}/hwmon1/temp1_")]
        number = _RELEASES[release]
        paths = [path for path in self.reads[begin:] if may_interrupt(path, TARGET, number)]
        return paths + [path for path in sensors if path.endswith(("_input", "_crit"))]


@pytest.fixture(autouse=True)
def affinity() -> Iterator[None]:
    """Restore our affinity: the sampler moves its process off the target CPUs."""
    before = os.sched_getaffinity(0)
    yield
    os.sched_setaffinity(0, before)


@pytest.fixture(params=_RELEASES)
def release(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def _snapshots(host: _Host, options: SnapshotOptions, count: int) -> list[Snapshot]:
    snapshots: list[Snapshot] = []
    for _ in range(count):
        snapshots.append(read_snapshot(host, options, TaskReader(), snapshots[-1] if snapshots else None))
        host.advance()
    return snapshots


def test_the_first_snapshot_reads_all_interrupting_files(release: str) -> None:
    host = _Host(release)
    (snapshot,) = _snapshots(host, SnapshotOptions(TARGET), 1)
    expected = set(INTRUSIVE[2:]) if release == "6.14.0" else set(INTRUSIVE[1:])
    reads = {read for read in INTRUSIVE for path in host.intrusive(release) if read.words.fullmatch(path)}
    absent = {read for read in INTRUSIVE if "msr" in read.words.pattern or "thermal_zone" in read.words.pattern}
    assert reads == expected - absent
    assert snapshot.pin_trial.granted == TARGET
    assert {cpu.base_khz for cpu in snapshot.frequency.cpus.values()} == {2_600_000}


def test_later_frames_of_the_sampler_interrupt_no_target_cpu(release: str) -> None:
    """All screens show only frames. These lack the clock figures, which only the clock screen and the map request."""
    host = _Host(release, seconds_between=1.1 * SETTINGS_LAST_NS / SECOND_NS)  # the settings are read again each time
    frames = sample_frames(host, SnapshotOptions(TARGET), 1.0, sleep=lambda seconds: host.advance())
    next(frames)
    begin = len(host.reads)
    later = [next(frames) for _ in range(_FRAMES)]
    assert len(host.reads) > begin + 100 * _FRAMES
    assert host.intrusive(release, begin) == []
    assert {interval.conditions.temperatures for interval in later} == {()}  # all are read on a target core


def test_values_of_the_first_snapshot_stay_known(release: str) -> None:
    host = _Host(release, seconds_between=1.1 * SETTINGS_LAST_NS / SECOND_NS)
    first, *_, last = _snapshots(host, SnapshotOptions(TARGET), 3)
    assert (last.hardware, last.pin_trial, last.platform) == (first.hardware, first.pin_trial, first.platform)
    for cpu in TARGET:
        before, after = first.frequency.cpus[cpu], last.frequency.cpus[cpu]
        assert (after.base_khz, after.energy_preference) == (before.base_khz, before.energy_preference)
    assert [reason for reason in last.reason_by_path.values() if reason == NOT_ASKED] == []


def test_a_changed_target_cpu_is_not_interrupted(release: str) -> None:
    host = _Host(release)
    first = read_snapshot(host, SnapshotOptions(frozenset({1})), TaskReader())
    begin = len(host.reads)
    later = read_snapshot(host, SnapshotOptions(TARGET), TaskReader(), first)
    assert host.intrusive(release, begin) == []
    assert later.pin_trial.granted == TARGET
    assert NOT_ASKED in later.reason_by_path.values()


def test_advice_interrupts_no_target_cpu(release: str) -> None:
    host = _Host(release)
    about = culprit("hog", cpu=2, pid=900, tid=900, kind="thread")
    advice = advise(lambda: host, TARGET, about)
    assert isinstance(advice, Advice)
    assert advice.commands != ()
    assert len(host.reads) > 100
    assert host.intrusive(release) == []


def test_a_trace_interrupts_no_target_cpu(release: str) -> None:
    host = _Host(release)

    class Listener(SilentListener):
        def on_sampling(self, doing: str, done_s: float, total_s: float) -> None:
            host.advance()

    machine = MachineOptions(cpus=format_cpu_list(TARGET))
    result = follow(host, TraceOptions(machine=machine, seconds=0.01, tracer=Tracer.NONE), Listener())
    assert result.interval.seconds > 0
    assert len(host.reads) > 300
    assert host.intrusive(release) == []


_VIEW_KEYS = (*map(key_of, Screen), *"mwHyegz", "enter", "left", "right", "left_square_bracket", "space")
_OVERLAY_KEYS = ("t", "c", "p")  # they announce their disturbance, and escape closes them before they start


def test_only_the_key_f_reads_the_host(release: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # where `e` writes
    hosts: list[_Host] = []
    read_by_key: dict[str, int] = {}

    def open_host() -> _Host:
        hosts.append(_Host(release))
        return hosts[-1]

    async def steps(app: MonitorApp, pilot: Pilot[None]) -> None:
        cpus = tuple(cpu_line(cpu, "target" if cpu in TARGET else "housekeeping") for cpu in range(4))
        app.show_frame(frame(cpus, culprits=(culprit("hog", cpu=2, pid=900, tid=900, kind="thread"),)))
        for key in (*_VIEW_KEYS, key_of(Screen.CULPRITS), "f", *_OVERLAY_KEYS):
            await pilot.press(key)
            await app.workers.wait_for_complete()
            await pilot.pause()
            read_by_key[key] = sum(len(host.reads) for host in hosts)
            assert [path for host in hosts for path in host.intrusive(release)] == [], key
            hosts.clear()
            if key in _OVERLAY_KEYS:
                await pilot.press("escape")

    with_monitor(steps, access=MachineAccess(open_host))
    assert {key for key, count in read_by_key.items() if count} == {"f"}
