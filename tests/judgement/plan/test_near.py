"""CPUs near a device."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from noisewatch.errors import UsageError
from noisewatch.judgement.plan.plan import Criterion
from noisewatch.judgement.terms import Status
from noisewatch.kernel.snapshot.placement import read_for_replays
from noisewatch.kernel.snapshot.snapshot import SnapshotOptions, read_snapshot
from noisewatch.kernel.tasks.threads import TaskReader
from noisewatch.machine import Machine
from noisewatch.machine.recording.recorder import Recorder
from noisewatch.machine.recording.replay import Recording
from tests.judgement.plan.planned import answer, planned, run_on
from tests.written import Files
from tests.written.topologies import cores, files_of, machine_of

_CARD = "/sys/class/net/eth0/device"
_TWO_NODES = files_of(cores(8, sockets=2))


def _device_files(node: int) -> dict[str, str]:
    return {f"{_CARD}/numa_node": f"{node}\n"}


@pytest.mark.parametrize(("node", "run"), [(0, [1, 2]), (1, [4, 5])])
def test_proposed_cpus_are_of_the_devices_node(node: int, run: list[int]) -> None:
    plan = planned(_TWO_NODES | _device_files(node), 2, near="eth0")
    assert run_on(plan) == run
    assert answer(plan, Criterion.DEVICE).said == f"eth0 is on node {node} as well"


def test_cpus_beyond_the_devices_node_are_warned_of() -> None:
    plan = planned(_TWO_NODES | _device_files(0), 4, near="eth0")
    result = answer(plan, Criterion.DEVICE)
    assert result.status == Status.WARN
    assert result.said.endswith("(near it: 0-3)")


def test_an_unreported_node_of_the_device_is_unknown() -> None:
    result = answer(planned(_TWO_NODES | _device_files(-1), 1, near="eth0"), Criterion.DEVICE)
    assert (result.status, result.reason) == (
        Status.UNKNOWN,
        "this machine does not report the node of eth0: numa_node is -1",
    )


def test_on_bare_metal_with_one_node_all_cpus_are_near() -> None:
    result = answer(planned(files_of(cores(4)) | _device_files(-1), 1, near="eth0"), Criterion.DEVICE)
    assert (result.status, result.said) == (Status.PASS, "this machine has only one memory node")


def _replay(path: Path, files: Files, read_more: Callable[[Machine], object] | None) -> Recording:
    """Record two snapshots of the machine, and return the recording."""
    machine = machine_of(files)
    with path.open("wb") as sink:
        recorder = Recorder(machine, sink, interval_s=1.0, read_more=read_more)
        first = read_snapshot(recorder, SnapshotOptions(), TaskReader())
        read_snapshot(recorder, SnapshotOptions(), TaskReader(), first)
        recorder.close()
    return Recording(str(path))


@pytest.mark.parametrize("name", ["eth0", "nvme0n1", "0000:3b:00.0"])
@pytest.mark.parametrize("files", [_TWO_NODES, files_of(cores(8, sockets=2), nodes_without_memory=[1])])
def test_plan_on_a_recording_is_near_the_device(files: Files, name: str, tmp_path: Path) -> None:
    devices = {
        "/sys/class/block/nvme0n1/device/nvme0/device/numa_node": "1\n",
        "/sys/bus/pci/devices/0000:3b:00.0/numa_node": "1\n",
        "/sys/bus/pci/devices/0000:3b:00.0/local_cpulist": "4-7\n",
    }
    files = {**files, **_device_files(1), **devices}
    live = planned(files, 2, near=name)
    plan = planned(_replay(tmp_path / "machine.nw", files, read_for_replays), 2, near=name)
    assert (run_on(plan), plan.proposal.readings.nodes) == ([4, 5], live.proposal.readings.nodes)
    for criterion in (Criterion.DEVICE, Criterion.MEMORY, Criterion.NODE):
        assert answer(plan, criterion).said == answer(live, criterion).said


def test_node_that_an_older_recording_lacks_is_unknown_because_of_that(tmp_path: Path) -> None:
    recording = _replay(tmp_path / "machine.nw", _TWO_NODES | _device_files(1), None)
    result = answer(planned(recording, 1, near="eth0"), Criterion.DEVICE)
    assert (result.status, result.reason) == (
        Status.UNKNOWN,
        f"the node of eth0: {_CARD}/numa_node: not in the recording",
    )


def test_refusal_names_a_list_of_devices_that_an_older_recording_lacks(tmp_path: Path) -> None:
    recording = _replay(tmp_path / "machine.nw", _TWO_NODES | _device_files(1), None)
    with pytest.raises(UsageError, match="/sys/class/block: not in the recording"):
        planned(recording, 1, near="sda")


def test_an_unknown_device_is_refused_with_a_list_of_devices() -> None:
    with pytest.raises(UsageError, match="'eth7': no such network interface, disk or PCI device; available: eth0"):
        planned(_TWO_NODES | _device_files(0), 1, near="eth7")


def test_a_plan_without_a_device_has_no_device_criterion() -> None:
    assert all(result.criterion != Criterion.DEVICE for result in planned(_TWO_NODES, 1).criteria)
