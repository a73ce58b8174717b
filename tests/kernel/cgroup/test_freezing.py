"""Cgroups of a process and whether they are frozen, in both versions."""

from __future__ import annotations

import pytest

from noisewatch.errors import Malformed
from noisewatch.kernel.cgroup.freezing import (
    FreezeLook,
    FreezeReader,
    GroupFreeze,
    parse_freezer_state,
    parse_frozen_ns,
    parse_is_frozen,
    quotas_of,
)
from tests.written import BARE, Files, WrittenMachine, mounted, without

ROOT = "/sys/fs/cgroup"
V1 = f"{ROOT}/freezer"
PID = "/proc/9/cgroup"


def machine_files(membership: str, *groups: Files, root: str = "/") -> dict[str, str]:
    """Return the files of a process in the groups, on a machine with both versions mounted."""
    files = {
        **BARE,
        **mounted(f"cgroup2 {ROOT} cgroup2 rw 0 0\ncgroup {V1} cgroup rw,freezer 0 0\n", root),
        f"{ROOT}/cgroup.procs": "1\n",
        f"{V1}/release_agent": "\n",
        PID: membership,
        "/proc/self/cgroup": membership,
    }
    return {path: text for group in (files, *groups) for path, text in group.items()}


def group_v2(name: str, is_frozen: bool = False, frozen_us: int | None = None) -> dict[str, str]:
    """Return the files of a version 2 cgroup; Linux exports `frozen_us` from 6.18 on."""
    folder = f"{ROOT}{name}"
    counts = {} if frozen_us is None else {f"{folder}/cgroup.stat.local": f"frozen_usec {frozen_us}\n"}
    events = f"populated 1\nfrozen {int(is_frozen)}\n"
    return {f"{folder}/cgroup.freeze": "0\n", f"{folder}/cgroup.events": events, **counts}


def _group_v1(name: str, state: str) -> dict[str, str]:
    return {f"{V1}{name}/freezer.state": f"{state}\n"}


def _look(files: Files) -> FreezeLook:
    look = FreezeReader(WrittenMachine(files)).look(PID)
    assert look is not None
    return look


@pytest.mark.parametrize("is_frozen", [False, True])
def test_group_reports_whether_it_is_frozen_before_linux_6_18(is_frozen: bool) -> None:
    look = _look(machine_files("0::/a/b\n", group_v2("/a/b", is_frozen)))
    assert look.groups == (GroupFreeze(f"{ROOT}/a/b", is_frozen),)


def test_only_the_count_is_read_where_the_kernel_counts() -> None:
    machine = WrittenMachine(machine_files("0::/a\n", group_v2("/a", True, 1_500_000)))
    reader = FreezeReader(machine)
    reader.look(PID)
    machine.reads.clear()
    look = reader.look(PID)
    assert look is not None
    assert look.groups == (GroupFreeze(f"{ROOT}/a", False, 1_500_000_000),)
    assert machine.reads == [PID, f"{ROOT}/a/cgroup.stat.local"]


@pytest.mark.parametrize(("state", "is_frozen"), [("THAWED", False), ("FREEZING", True), ("FROZEN", True)])
def test_group_of_version_1_reports_its_state(state: str, is_frozen: bool) -> None:
    look = _look(machine_files("6:freezer:/a\n0::/\n", _group_v1("/a", state)))
    assert look.groups == (GroupFreeze(f"{V1}/a", is_frozen),)


@pytest.mark.parametrize("membership", ["0::/\n", "6:freezer:/\n0::/\n", "3:cpu:/a\n"])
def test_process_in_no_group_or_in_the_root_cannot_be_frozen(membership: str) -> None:
    look = _look(machine_files(membership))
    assert (look.groups, look.reason) == ((), None)


def test_version_2_cannot_freeze_before_linux_5_2() -> None:
    look = _look(machine_files("0::/a\n", {f"{ROOT}/a/cgroup.events": "populated 1\n"}))
    assert (look.groups, look.reason) == ((), None)


def test_root_of_a_namespace_can_be_frozen_from_outside() -> None:
    assert _look(machine_files("0::/\n", group_v2("", True))).groups == (GroupFreeze(ROOT, True),)


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        (machine_files("0::/a\n"), f"{ROOT}/a: no such file"),
        (machine_files("0::/a\n", {f"{ROOT}/a/cgroup.freeze": "0\n"}), f"{ROOT}/a/cgroup.events: no such file"),
        (machine_files("0::/a\n", group_v2("/a"), {f"{ROOT}/a/cgroup.events": "populated 1\n"}), "frozen 0"),
        (machine_files("0::/a\n", group_v2("/a"), {f"{ROOT}/a/cgroup.events": "populated 1\nfroz"}), "cut off"),
        (machine_files("6:freezer:/a\n", _group_v1("/a", "ICY")), "THAWED, FREEZING or FROZEN"),
        (machine_files("0::/../a\n", group_v2("/a")), "outside the mounted part"),
        (machine_files("0::/a\n") | mounted(""), "cgroup v2 is not mounted"),
        (without(machine_files("0::/a\n"), "/proc/self/mounts"), "/proc/self/mounts: no such file"),
        (machine_files("rubbish\n"), "0::/user.slice"),
    ],
)
def test_unknown_state_has_a_reason(files: Files, reason: str) -> None:
    look = _look(files)
    assert look.groups == ()
    assert reason in (look.reason or "")


@pytest.mark.parametrize("files", [without(machine_files("0::/a\n"), PID), machine_files("0::/a (deleted)\n")])
def test_ended_process_has_no_look(files: Files) -> None:
    assert FreezeReader(WrittenMachine(files)).look(PID) is None


def test_group_that_was_left_is_looked_at_once_more() -> None:
    """The group may have been frozen since the previous look."""
    groups = (group_v2("/a", frozen_us=5), group_v2("/b", frozen_us=0))
    machine = WrittenMachine(*[machine_files(f"0::/{name}\n", *groups) for name in "abb"])
    reader = FreezeReader(machine)
    names = []
    for _ in range(3):
        look = reader.look(PID)
        assert look is not None
        names.append([group.folder.rpartition("/")[2] for group in look.groups])
        if machine.has_next:
            machine.advance()
    assert names == [["a"], ["a", "b"], ["b"]]


def test_removed_group_that_was_left_is_ignored() -> None:
    machine = WrittenMachine(
        machine_files("0::/a\n", group_v2("/a")), machine_files("0::/b\n", group_v2("/b", is_frozen=True))
    )
    reader = FreezeReader(machine)
    reader.look(PID)
    machine.advance()
    look = reader.look(PID)
    assert look is not None
    assert (look.groups, look.reason) == ((GroupFreeze(f"{ROOT}/b", True),), None)


def test_groups_are_looked_at_after_the_end_of_the_process() -> None:
    machine = WrittenMachine(
        machine_files("0::/a\n", group_v2("/a", frozen_us=0)),
        without(machine_files("0::/a\n", group_v2("/a", frozen_us=7)), PID),
        without(machine_files("0::/a\n"), PID),
    )
    reader = FreezeReader(machine)
    reader.look(PID)
    machine.advance()
    assert reader.look_again().groups == (GroupFreeze(f"{ROOT}/a", False, 7_000),)
    machine.advance()
    look = reader.look_again()
    assert (look.groups, look.reason) == ((), None)


@pytest.mark.parametrize("parse", [parse_is_frozen, parse_frozen_ns, parse_freezer_state])
@pytest.mark.parametrize("text", ["", "\n", "frozen\n", "frozen x\nfrozen_usec -1\n", "frozen_usec\nFREEZ\n"])
def test_rubbish_is_malformed(parse: object, text: str) -> None:
    assert callable(parse)
    with pytest.raises(Malformed):
        parse(text)


def _quotas(membership: str, own_membership: str, throttled_ns: str) -> FreezeLook | None:
    cpu = f"{ROOT}/cpu"
    files = {
        **machine_files(membership),
        **mounted(f"cgroup {cpu} cgroup rw,cpu 0 0\n"),
        f"{cpu}/release_agent": "\n",
        f"{cpu}/cpu.cfs_quota_us": "-1\n",
        f"{cpu}/cpu.stat": "nr_periods 0\nnr_throttled 0\nthrottled_time 0\n",
        f"{cpu}/b/cpu.cfs_quota_us": "20000\n",
        f"{cpu}/b/cpu.stat": f"nr_periods 9\nnr_throttled 4\n{throttled_ns}",
        "/proc/self/cgroup": own_membership,
    }
    return FreezeReader(WrittenMachine(files), quotas_of).look(PID)


def test_quota_of_a_group_without_noisewatch_is_counted() -> None:
    look = _quotas("1:cpu:/b\n", "1:cpu:/\n", "throttled_time 300\n")
    assert look is not None
    assert look.groups == (GroupFreeze(f"{ROOT}/cpu/b", False, 300),)
    own = _quotas("1:cpu:/b\n", "1:cpu:/b\n", "throttled_time 300\n")
    assert own is not None
    assert own.groups == ()


def test_quota_without_a_throttled_time_is_unknown() -> None:
    look = _quotas("1:cpu:/b\n", "1:cpu:/\n", "")
    assert look is not None
    assert "cpu.stat" in (look.reason or "")
