"""CPUs near a device."""

from __future__ import annotations

import pytest

from noisewatch.errors import UsageError
from noisewatch.judgement.plan.plan import Criterion
from noisewatch.judgement.terms import Status
from tests.judgement.plan.planned import answer, planned, run_on
from tests.written.topologies import cores, files_of

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


def test_an_unknown_device_is_refused_with_a_list_of_devices() -> None:
    with pytest.raises(UsageError, match="'eth7': no such network interface, disk or PCI device; available: eth0"):
        planned(_TWO_NODES | _device_files(0), 1, near="eth7")


def test_a_plan_without_a_device_has_no_device_criterion() -> None:
    assert all(result.criterion != Criterion.DEVICE for result in planned(_TWO_NODES, 1).criteria)
