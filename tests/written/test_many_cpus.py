"""The made-up machine of many CPUs shows the noise that its module lists."""

from __future__ import annotations

from pathlib import Path

import pytest

from noisewatch.kernel.snapshot.snapshot import SnapshotOptions
from noisewatch.kinds import Role
from noisewatch.machine.recording.replay import Recording
from noisewatch.operations.frame.frame import Frame
from noisewatch.operations.sampling import sample_frames
from tests.written.many_cpus import INTERVALS, record_many_cpus


def _frames(path: Path) -> list[Frame]:
    return list(sample_frames(Recording(str(path)), SnapshotOptions(), 1.0))


@pytest.fixture(scope="module")
def frames(tmp_path_factory: pytest.TempPathFactory) -> list[Frame]:
    """Frames, one for each second; the first one has no rates."""
    return _frames(record_many_cpus(8, tmp_path_factory.mktemp("many") / "8.nw"))


def _first_culprit(frame: Frame) -> tuple[int, str]:
    first = frame.culprits[0]
    return first.cpu, first.name.partition(" (")[0]


def test_recording_lasts_two_minutes_and_is_named_an_example(frames: list[Frame]) -> None:
    assert len(frames) == INTERVALS + 1
    assert {frame.machine for frame in frames} == {"example-8"}


def test_online_isolated_cpus_are_the_target(frames: list[Frame]) -> None:
    assert frames[1].target == (2, 3, 4, 5, 6)
    assert [line.cpu for line in frames[1].cpus if line.role == Role.OFFLINE] == [7]


def test_machine_is_stable_between_disturbances(frames: list[Frame]) -> None:
    assert [frames[second].verdict for second in (5, 45, 58, 118)] == ["stable"] * 4


def test_each_culprit_is_named_in_its_second(frames: list[Frame]) -> None:
    assert _first_culprit(frames[10]) == (5, "prometheus")
    assert _first_culprit(frames[25]) == (5, "NET_RX")
    assert "ice-eth0-TxRx-5 (Ethernet Controller E810-C" in frames[25].culprits[1].name
    assert _first_culprit(frames[45]) == (3, "kworker/3:1")
    assert frames[25].failed == ("device-interrupts-on-target", "target-cpu-busy")


def test_one_cpu_goes_offline_and_returns(frames: list[Frame]) -> None:
    assert [frames[second].online_count for second in (59, 60, 74, 75)] == [7, 6, 6, 7]


def test_governor_changes_and_changes_back(frames: list[Frame]) -> None:
    assert [frames[second].failed for second in (79, 85, 99)] == [(), ("governor-not-performance",), ()]


def test_equal_machines_make_equal_bytes(tmp_path: Path) -> None:
    first, second = (record_many_cpus(4, tmp_path / f"{number}.nw", intervals=3).read_bytes() for number in range(2))
    assert first == second


def test_machine_may_have_more_than_64_cpus(tmp_path: Path) -> None:
    *_, last = _frames(record_many_cpus(66, tmp_path / "66.nw", intervals=2))
    assert last.online_count == 65
    assert last.verdict == "stable"


def test_one_of_two_cpus_has_all_the_noise(tmp_path: Path) -> None:
    frames = _frames(record_many_cpus(2, tmp_path / "2.nw"))
    assert {frame.target for frame in frames} == {(1,)}
    assert [frames[second].verdict for second in (5, 25, 58, 65)] == ["stable", "unstable", "stable", "stable"]
    assert _first_culprit(frames[10]) == (1, "prometheus")
