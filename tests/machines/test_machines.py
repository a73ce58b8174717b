"""Recorded machines: what noisewatch says of them today."""

from __future__ import annotations

import gzip
import json
import re
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

RECORDINGS = sorted(path.stem for path in MACHINES.glob("*.nw"))
ISOLATED = [2, 3, 6, 7]


def _verdict(name: str, capsys: pytest.CaptureFixture[str], *options: str) -> dict[str, Any]:
    status = main(["preflight", "--replay", str(MACHINES / f"{name}.nw"), "--format", "json", *options])
    verdict: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert verdict["exit_status"] == status
    return verdict


def _finding(verdict: dict[str, Any], check_id: str) -> dict[str, Any]:
    return dict(next(each for each in verdict["findings"] if each["id"] == check_id))


def _moments(name: str) -> list[Snapshot]:
    recording = Recording(str(MACHINES / f"{name}.nw"))
    task_reader = TaskReader()
    moments = [read_snapshot(recording, SnapshotOptions(), task_reader)]
    while recording.advance():
        moments.append(read_snapshot(recording, SnapshotOptions(), task_reader, moments[-1]))
    assert recording.damage is None
    return moments


def _frames(name: str) -> list[Frame]:
    return list(sample_frames(Recording(str(MACHINES / f"{name}.nw")), SnapshotOptions(), 1.0))


def test_each_recording_is_described_in_one_line() -> None:
    described = re.findall(r"^\| (\S+)\.nw \| .{20,}\|$", (MACHINES / "README.md").read_text(), re.MULTILINE)
    assert sorted(described) == RECORDINGS


@pytest.mark.parametrize("name", RECORDINGS)
def test_nothing_private_is_in_it_and_it_is_small(name: str) -> None:
    path = MACHINES / f"{name}.nw"
    text = gzip.decompress(path.read_bytes()).decode()
    assert re.findall(r"(?<!sched_ext)/(?:home|root|tmp|work|var)/[\w.-]+", text) == []
    assert json.loads(text.splitlines()[1])["read"]["text /proc/sys/kernel/hostname"] in ("host\n", "(none)\n")
    assert path.stat().st_size < 120_000


@pytest.mark.parametrize("name", RECORDINGS)
def test_it_is_drawn_from_its_beginning_to_its_end(name: str) -> None:
    frames = _frames(name)
    assert len(frames) > 4
    assert all(frame.cpus for frame in frames)
    assert frames[-1].verdict is not None


def test_a_process_and_a_disk_on_isolated_cpus_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    verdict = _verdict("lab-disturbed", capsys, "--no-calibration")
    assert (verdict["target"], verdict["exit_status"]) == (ISOLATED, 1)
    process, *rest = _finding(verdict, "tasks-on-target")["culprits"]
    assert (process["name"], process["cpu"], process["kind"]) == ("updatedb", 2, "thread")
    assert process["share"] > 0.7  # the first moment took five seconds to read: so slow is emulation
    assert {each["cpu"] for each in rest} <= {2}
    interrupts = _finding(verdict, "device-interrupts-on-target")
    assert (interrupts["status"], interrupts["cpus"]) == ("warn", [6])
    assert "0.15% of its time; CPU 6 is isolated" in interrupts["said"]
    disk = interrupts["culprits"][0]
    assert (disk["kind"], disk["cpu"]) == ("irq", 6)
    assert "SATA" in disk["name"]
    assert {each["cpu"] for each in _finding(verdict, "target-cpu-busy")["culprits"]} <= {2, 6}
    assert _finding(verdict, "target-cpu-busy")["cpus"] == [2]


@pytest.mark.parametrize("name", RECORDINGS)
def test_a_virtual_machine_is_judged_as_one_where_no_profile_was_named(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    by_machine, as_bare_metal = _verdict(name, capsys), _verdict(name, capsys, "--profile", "micro")
    assert (by_machine["profile"], as_bare_metal["profile"]) == ("shared", "micro")
    assert by_machine["verdict"] == as_bare_metal["verdict"] == "unstable"


def test_a_cpu_that_goes_and_comes_back_changes_the_target_and_nothing_else() -> None:
    targets = [sorted(moment.target.cpus) for moment in _moments("lab-hotplug")]
    changes = [target for target, before in zip(targets, [[], *targets], strict=False) if target != before]
    assert changes == [ISOLATED, [2, 3, 6], ISOLATED]
    shown = [{line.cpu for line in frame.cpus if line.role != "offline"} for frame in _frames("lab-hotplug")]
    assert {7 in cpus for cpus in shown} == {True, False}
    assert all(set(range(7)) <= cpus for cpus in shown)


def test_a_partition_becomes_the_target_until_it_is_invalid(capsys: pytest.CaptureFixture[str]) -> None:
    moments = _moments("lab-partition")
    targets = [sorted(moment.target.cpus) for moment in moments]
    changes = [target for target, before in zip(targets, [[], *targets], strict=False) if target != before]
    assert changes == [[2, 3, 4, 5, 6, 7], [2, 3], [2, 3, 4, 5, 6, 7]]
    invalid = _finding(_verdict("lab-partition", capsys, "--no-calibration"), "partition-invalid")
    assert (invalid["status"], invalid["cpus"]) == ("fail", [2, 3])
    assert "not exclusive" in invalid["said"]


def test_a_quota_of_version_one_that_throttles_is_found(capsys: pytest.CaptureFixture[str]) -> None:
    found = _finding(_verdict("lab-throttled", capsys, "--no-calibration"), "cpu-quota")
    assert found["status"] == "fail"
    assert "throttled in" in found["said"]
    assert found["evidence"]["known_quota_share"] == 1.5  # what the mount shows was not recorded yet
    assert found["fix"]["undo"].startswith("echo 150000 | sudo tee /run/v1/small/cpu.cfs_quota_us")


def test_a_machine_with_one_cpu_has_nobody_to_send_the_noise_to(capsys: pytest.CaptureFixture[str]) -> None:
    verdict = _verdict("lab-one-cpu", capsys, "--no-calibration")
    assert verdict["target"] == [0]
    assert _finding(verdict, "target-not-isolated")["fix"]["now"] is None


def test_where_a_recording_ends_with_its_calibration_the_sample_alone_lets_nothing_pass(
    capsys: pytest.CaptureFixture[str],
) -> None:
    findings = _verdict("host-calibration", capsys)["findings"]
    status_by_id = {each["id"]: each["status"] for each in findings if each.get("reason") == NOT_READ_AFTER}
    assert set(status_by_id.values()) == {"unknown"}
    assert {"device-interrupts-on-target", "timers-on-target", "target-cpu-busy"} <= status_by_id.keys()


def test_a_calibration_is_replayed_with_its_floor(capsys: pytest.CaptureFixture[str]) -> None:
    verdict = _verdict("host-calibration", capsys)
    assert verdict["calibration"]["core"] == "native"
    assert verdict["noise_floor"] is not None
    assert _finding(verdict, "noise-floor-above-budget")["measured"] > 0


def test_a_busy_sibling_slows_throughput_and_spares_latency(capsys: pytest.CaptureFixture[str]) -> None:
    by_work = {
        name: next(floor for floor in floors if floor["sample_ns"] == 100_000_000)
        for name, floors in _verdict("host-kinds", capsys)["noise_floor_by_work"].items()
    }
    assert by_work["throughput"]["cv_expected"] > 10 * by_work["latency"]["cv_expected"]
    main(["calibrate", "--replay", str(MACHINES / "host-kinds.nw")])
    said = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert "What slows throughput and spares latency shares the core" in said
