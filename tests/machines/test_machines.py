"""Recorded machines, judged by today's noisewatch."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest

from noisewatch.judgement.case import NOT_READ_AFTER
from noisewatch.kernel.snapshot.snapshot import Snapshot, SnapshotOptions, read_snapshot
from noisewatch.kernel.tasks.threads import TaskReader
from noisewatch.machine.recording.replay import Recording
from noisewatch.operations.frame.frame import Frame
from noisewatch.operations.sampling import sample_frames
from noisewatch.surfaces.cli import main
from tests import MACHINES
from tests.written.clock_drop import HOT, POWERSAVE, record_clock_drop

RECORDINGS = sorted(path.stem for path in MACHINES.glob("*.nw"))
ISOLATED = [2, 3, 6, 7]


def _verdict(name: str, capsys: pytest.CaptureFixture[str], *options: str) -> dict[str, Any]:
    status = main(["preflight", "--replay", str(MACHINES / f"{name}.nw"), "--format", "json", *options])
    verdict: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert verdict["exit_status"] == status
    return verdict


def _finding(verdict: dict[str, Any], check_id: str) -> dict[str, Any]:
    return dict(next(finding for finding in verdict["findings"] if finding["id"] == check_id))


def _moments(name: str) -> list[Snapshot]:
    recording = Recording(str(MACHINES / f"{name}.nw"))
    task_reader = TaskReader()
    moments = [read_snapshot(recording, SnapshotOptions(), task_reader)]
    while recording.advance():
        moments.append(read_snapshot(recording, SnapshotOptions(), task_reader, moments[-1]))
    assert recording.damage is None
    return moments


def _frames(name: str) -> list[Frame]:
    return _frames_of(MACHINES / f"{name}.nw")


def _frames_of(path: Path) -> list[Frame]:
    return list(sample_frames(Recording(str(path)), SnapshotOptions(), 1.0))


def test_each_recording_is_described_in_one_line() -> None:
    names = re.findall(r"^\| (\S+)\.nw \| .{20,}\|$", (MACHINES / "README.md").read_text(), re.MULTILINE)
    assert sorted(names) == RECORDINGS


@pytest.mark.parametrize("name", RECORDINGS)
def test_recording_is_small_and_contains_nothing_private(name: str) -> None:
    path = MACHINES / f"{name}.nw"
    text = gzip.decompress(path.read_bytes()).decode()
    assert re.findall(r"(?<!sched_ext)/(?:home|root|tmp|work|var(?!/lib/noisewatch/))/[\w.-]+", text) == []
    assert json.loads(text.splitlines()[1])["read"]["text /proc/sys/kernel/hostname"] in ("host\n", "(none)\n")
    assert path.stat().st_size < 120_000


@pytest.mark.parametrize("name", RECORDINGS)
def test_recording_is_replayed_from_start_to_end(name: str) -> None:
    frames = _frames(name)
    assert len(frames) > 4
    assert all(frame.cpus for frame in frames)
    assert frames[-1].verdict is not None


def test_process_and_disk_on_isolated_cpus_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    verdict = _verdict("lab-disturbed", capsys, "--no-calibration")
    assert (verdict["target"], verdict["exit_status"]) == (ISOLATED, 1)
    process, *rest = _finding(verdict, "tasks-on-target")["culprits"]
    assert (process["name"], process["cpu"], process["kind"]) == ("updatedb", 2, "thread")
    assert process["share"] > 0.7  # the first moment took five seconds to read, as emulation is slow
    assert {culprit["cpu"] for culprit in rest} <= {2}
    interrupts = _finding(verdict, "device-interrupts-on-target")
    assert (interrupts["status"], interrupts["cpus"]) == ("warn", [6])
    assert "0.15% of its time; CPU 6 is isolated" in interrupts["said"]
    disk = interrupts["culprits"][0]
    assert (disk["kind"], disk["cpu"]) == ("irq", 6)
    assert "SATA" in disk["name"]
    assert {culprit["cpu"] for culprit in _finding(verdict, "target-cpu-busy")["culprits"]} <= {2, 6}
    assert _finding(verdict, "target-cpu-busy")["cpus"] == [2]


@pytest.mark.parametrize("name", [name for name in RECORDINGS if not name.startswith("written-")])
def test_virtual_machine_has_the_shared_profile_by_default(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    by_machine, as_bare_metal = _verdict(name, capsys), _verdict(name, capsys, "--profile", "micro")
    assert (by_machine["profile"], as_bare_metal["profile"]) == ("shared", "micro")
    assert by_machine["verdict"] == as_bare_metal["verdict"] == "unstable"


def test_cpu_that_goes_offline_and_returns_changes_only_the_target() -> None:
    targets = [sorted(moment.target.cpus) for moment in _moments("lab-hotplug")]
    changes = [target for target, before in zip(targets, [[], *targets], strict=False) if target != before]
    assert changes == [ISOLATED, [2, 3, 6], ISOLATED]
    shown = [{line.cpu for line in frame.cpus if line.role != "offline"} for frame in _frames("lab-hotplug")]
    assert {7 in cpus for cpus in shown} == {True, False}
    assert all(set(range(7)) <= cpus for cpus in shown)


def test_partition_is_the_target_until_it_is_invalid(capsys: pytest.CaptureFixture[str]) -> None:
    moments = _moments("lab-partition")
    targets = [sorted(moment.target.cpus) for moment in moments]
    changes = [target for target, before in zip(targets, [[], *targets], strict=False) if target != before]
    assert changes == [[2, 3, 4, 5, 6, 7], [2, 3], [2, 3, 4, 5, 6, 7]]
    invalid = _finding(_verdict("lab-partition", capsys, "--no-calibration"), "partition-invalid")
    assert (invalid["status"], invalid["cpus"]) == ("fail", [2, 3])
    assert "not exclusive" in invalid["said"]


def test_throttling_quota_of_version_one_is_a_failure(capsys: pytest.CaptureFixture[str]) -> None:
    finding = _finding(_verdict("lab-throttled", capsys, "--no-calibration"), "cpu-quota")
    assert finding["status"] == "fail"
    assert "throttled in" in finding["said"]
    assert finding["evidence"]["known_quota_share"] == 1.5  # the root of the mount was not recorded yet
    assert finding["fix"]["undo"].startswith("echo 150000 | sudo tee /run/v1/small/cpu.cfs_quota_us")


def test_clock_that_drops_by_heat_is_a_failure(capsys: pytest.CaptureFixture[str]) -> None:
    verdict = _verdict("written-clock-drop", capsys, "--no-calibration")
    assert (verdict["profile"], verdict["target"], verdict["exit_status"]) == ("micro", [2, 3], 1)
    throttled = _finding(verdict, "throttled")
    assert (throttled["status"], throttled["cpus"]) == ("fail", [2, 3])
    assert "by heat 45 times" in throttled["said"]
    assert (_finding(verdict, "turbo-enabled")["status"], _finding(verdict, "turbo-enabled")["severity"]) == (
        "fail",
        "warning",
    )


def test_recorded_clock_drops_when_its_files_show_a_cause() -> None:
    frames = _frames("written-clock-drop")
    clocks = [{line.cpu: line.current_khz or 0 for line in frame.cpus} for frame in frames]
    assert {second for second, khz in enumerate(clocks) if khz[0] < 3_000_000} == set(HOT)
    assert {second for second, khz in enumerate(clocks) if khz[2] < 3_000_000} == {*HOT, *POWERSAVE}
    assert "throttled" in frames[31].failed
    assert "throttled" not in frames[15].failed
    governors = [next(line.governor for line in frame.cpus if line.cpu == 2) for frame in frames]
    assert {second for second, governor in enumerate(governors) if governor == "powersave"} == set(POWERSAVE)


def test_script_of_the_written_machine_writes_the_same_events(tmp_path: Path) -> None:
    written = _frames_of(record_clock_drop(tmp_path / "machine.nw"))
    recorded = _frames("written-clock-drop")
    assert [(frame.verdict, frame.failed) for frame in written] == [(frame.verdict, frame.failed) for frame in recorded]
    assert [[line.current_khz for line in frame.cpus] for frame in written] == [
        [line.current_khz for line in frame.cpus] for frame in recorded
    ]


def test_plan_on_a_recording_is_near_the_network_card(capsys: pytest.CaptureFixture[str]) -> None:
    main(["plan", "--near", "eth0", "--format", "json", "--replay", str(MACHINES / "written-clock-drop.nw")])
    criteria = json.loads(capsys.readouterr().out)["criteria"]
    assert [one["said"] for one in criteria if one["id"] == "near-device"] == ["eth0 is on node 0 as well"]


def test_machine_with_one_cpu_has_no_fix_for_isolation(capsys: pytest.CaptureFixture[str]) -> None:
    verdict = _verdict("lab-one-cpu", capsys, "--no-calibration")
    assert verdict["target"] == [0]
    assert _finding(verdict, "target-not-isolated")["fix"]["now"] is None


def test_sample_of_a_recording_that_ends_with_its_calibration_passes_no_check(
    capsys: pytest.CaptureFixture[str],
) -> None:
    findings = _verdict("host-calibration", capsys)["findings"]
    status_by_id = {finding["id"]: finding["status"] for finding in findings if finding.get("reason") == NOT_READ_AFTER}
    assert set(status_by_id.values()) == {"unknown"}
    assert {"device-interrupts-on-target", "timers-on-target", "target-cpu-busy"} <= status_by_id.keys()


def test_calibration_is_replayed_with_its_noise_floor(capsys: pytest.CaptureFixture[str]) -> None:
    verdict = _verdict("host-calibration", capsys)
    assert verdict["calibration"]["core"] == "native"
    assert verdict["noise_floor"] is not None
    assert _finding(verdict, "noise-floor-above-budget")["measured"] > 0


def test_busy_sibling_slows_throughput_but_not_latency(capsys: pytest.CaptureFixture[str]) -> None:
    floors_by_work = _verdict("host-kinds", capsys)["noise_floor_by_work"]
    assert floors_by_work.pop("bandwidth") == []  # version 0.2.0 did not measure it
    by_work = {
        name: next(floor for floor in floors if floor["sample_ns"] == 100_000_000)
        for name, floors in floors_by_work.items()
    }
    assert by_work["throughput"]["cv_expected"] > 10 * by_work["latency"]["cv_expected"]
    main(["calibrate", "--replay", str(MACHINES / "host-kinds.nw")])
    report = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert "Throughput work is slowed, but latency work is not, so the cause shares the core" in report
