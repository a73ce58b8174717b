"""The monitor and a recording of a machine that changes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from noisewatch.kernel.snapshot.snapshot import SnapshotOptions, read_snapshot
from noisewatch.machine.recording.replay import Recording
from noisewatch.surfaces.tui.state import screen_model
from tests.lab.expected import ISOLATED_CPUS, finding
from tests.lab.lab import Lab
from tests.lab.screen import Screen, open_screen

_STORM = "while :; do dd if=/dev/sda of=/dev/null bs=4k count=500 iflag=direct 2>/dev/null; done"
_STEPS = 30
_ONLINE = "/sys/devices/system/cpu/cpu7/online"


@pytest.fixture(scope="module")
def monitor(isolated: Lab) -> Iterator[Screen]:
    with open_screen(isolated, "noisewatch") as screen:
        screen.wait_for("^noisewatch ")  # the screen; after a boot, it first reads Python from disk
        screen.wait_for("^noisewatch .* CPUs ")  # the sampler, which does so too
        screen.wait_for("of [3-9] intervals")
        yield screen


def _interval_count(text: str) -> int:
    match = re.search(r"\d+ of (\d+) (?:intervals|over)", text)
    assert match is not None, text
    return int(match[1])


def _line(text: str, cpu: int) -> str:
    """Return the line of one CPU above the list of culprits."""
    lines = text.split("culprits on ")[0].splitlines()
    return next(line for line in lines if line[1:7].split() in (["T", str(cpu)], ["x", str(cpu)], [str(cpu)]))


def test_a_changed_governor_is_shown_within_two_intervals(isolated: Lab, monitor: Screen) -> None:
    fix = finding(isolated.preflight("--sample 0 --no-calibration"), "governor-not-performance")["fix"]
    monitor.wait_for(r"failing \([0-9]+ s\): .*governor-not-performance")
    isolated.do(fix["now"])
    monitor.wait_for("unknown: hypervisor-steal")
    before, after = monitor.around(fix["undo"], r"failing \([0-9]+ s\): .*governor-not-performance")
    assert _interval_count(after) - _interval_count(before) <= 2


def test_a_busy_loop_is_named_and_quiet_cpus_are_not_called_busy(isolated: Lab, monitor: Screen) -> None:
    pid = isolated.start('taskset -c 6 sh -c "while :; do :; done"')
    try:
        text = monitor.wait_for(r"costs +\S.* of CPU 6 \((9[0-9]|100)%\)")
        assert re.search(rf" 6 thread +sh \[{pid}\] ", text)
        assert "worst CPU 6" in text
        assert re.search(r"failing \(\d+ s\): tasks-on-target, target-cpu-busy", text)
        assert re.search(r" (9[0-9]|100)% ", _line(text, 6))
        assert all(re.search(r" [0-2]\.\d% ", _line(text, cpu)) for cpu in (2, 3, 7))
    finally:
        isolated.stop(pid)


def test_a_cpu_goes_offline_and_back_while_the_monitor_and_a_recording_run(isolated: Lab, monitor: Screen) -> None:
    recorder = isolated.start("noisewatch record --duration 600 hotplug.nw")
    isolated.do("until noisewatch show --replay hotplug.nw >/dev/null 2>&1; do sleep 0.5; done")  # its first snapshot
    try:
        monitor.wait_for("target 2-3,6-7 ")
        isolated.write(_ONLINE, 0)
        offline = monitor.wait_for("target 2-3,6 ")
        assert _line(offline, 7).split()[:3] == ["x", "7", "offline"]
        assert isolated.show()["interrupts"]["cpus"] == [0, 1, 2, 3, 4, 5, 6]
    finally:
        isolated.write(_ONLINE, 1)
    online = monitor.wait_for("target 2-3,6-7 ")
    assert "offline" not in _line(online, 7)
    monitor.wait_for("^ T   7 +[0-9~]")
    isolated.do("sleep 5")  # until the recorder has sampled too
    isolated.stop(recorder, "TERM")
    everywhere, without_7 = tuple(range(8)), tuple(range(7))
    assert _columns(isolated.scratch / "hotplug.nw") == [everywhere, without_7, everywhere]
    replays = [isolated.run("noisewatch preflight --replay hotplug.nw --format json") for _ in range(2)]
    assert replays[0] == replays[1]
    assert json.loads(replays[0].out)["target"] == ISOLATED_CPUS


def test_an_interrupt_storm_is_named_also_when_stepping_back(isolated: Lab, monitor: Screen) -> None:
    irq = int(isolated.do("grep ahci /proc/interrupts").split()[0].rstrip(":"))
    allowed = f"/proc/irq/{irq}/smp_affinity_list"
    was_allowed = isolated.read(allowed).strip()
    isolated.write(allowed, 6)
    reader = isolated.start(f'taskset -c 4 sh -c "{_STORM}"')
    try:
        monitor.wait_for(rf"6 irq +{irq} ahci.* [0-9]{{3,}} ")
    finally:
        isolated.stop(reader)
        isolated.write(allowed, was_allowed)
    isolated.do("sleep 6")
    for _ in range(_STEPS):  # `[` would stop at each spike, and kernel threads cause many here
        monitor.press("Left")
        if re.search(rf"6 irq +{irq} ahci.* [0-9]{{3,}} ", text := monitor.text()):
            break
    assert "FROZEN" in text
    assert re.search(rf"6 irq +{irq} ahci", text), text
    monitor.press("Space")


def test_the_event_log_lists_changes_and_jumps_to_their_moment(isolated: Lab, monitor: Screen) -> None:
    monitor.press(str(screen_model.Screen.EVENTS.number))
    for words in ("governor of CPUs? .* is now performance, was", "CPU 7 went offline", "CPU 7 came online"):
        monitor.wait_for(words)
    monitor.press("/")
    monitor.press("offline")
    monitor.press("Enter")
    monitor.wait_for("filter: offline")
    monitor.press("Enter")
    moment = monitor.wait_for("FROZEN")
    assert _line(moment, 7).split()[:3] == ["x", "7", "offline"]
    monitor.press("Space")


def _columns(path: Path) -> list[tuple[int, ...]]:
    """Return the CPUs of /proc/interrupts in the recording, once for each change."""
    recording = Recording(str(path))
    columns: list[tuple[int, ...]] = []
    while not columns or recording.advance():
        snapshot = read_snapshot(recording, SnapshotOptions())
        assert snapshot.interrupts is not None
        assert snapshot.online.online == frozenset(snapshot.interrupts.cpus)
        if columns[-1:] != [snapshot.interrupts.cpus]:
            columns.append(snapshot.interrupts.cpus)
    return columns
