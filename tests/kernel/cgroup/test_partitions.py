"""Cgroup partitions: isolated CPUs, and invalid partitions that should isolate CPUs."""

from __future__ import annotations

from collections.abc import Set

import pytest

from noisewatch.errors import Unreadable
from noisewatch.kernel.cgroup.partitions import (
    Partition,
    PartitionRoot,
    Partitions,
    parse_partition_kind,
    read_partitions,
)
from noisewatch.kernel.reader import Reader
from tests.written import Files, WrittenMachine, reading

CGROUP = "/sys/fs/cgroup"
MOUNTED = {"/proc/self/mounts": f"cgroup2 {CGROUP} cgroup2 rw 0 0\n"}
NOT_MOUNTED = {"/proc/self/mounts": "proc /proc proc rw 0 0\n"}
OVERLAP = "Cpu list in cpuset.cpus not exclusive"


def _read(files: Files, previous: Partitions | None = None, *, is_copy: bool = False) -> Partitions:
    return read_partitions(reading(files, is_copy=is_copy), previous)


def _group(name: str, kind: str, wanted: str, has: str) -> dict[str, str]:
    folder = f"{CGROUP}/{name}"
    files = {"cpuset.cpus.partition": kind, "cpuset.cpus": wanted, "cpuset.cpus.effective": has}
    return {f"{folder}/{file}": f"{text}\n" for file, text in files.items()}


@pytest.mark.parametrize(
    ("text", "kind", "reason"),
    [
        ("member\n", "member", None),
        ("isolated\n", "isolated", None),
        ("root\n", "root", None),
        (f"isolated invalid ({OVERLAP})\n", "isolated", OVERLAP),
        ("root invalid (Parent (x) is not a partition root)\n", "root", "Parent (x) is not a partition root"),
        ("isolated invalid\n", "isolated", "the kernel gives no reason"),
    ],
)
def test_partition_kind_has_a_reason_if_it_is_invalid(text: str, kind: str, reason: str | None) -> None:
    assert parse_partition_kind(text) == (kind, reason)


def test_invalid_partition_is_kept_with_the_kernels_reason() -> None:
    files = MOUNTED | {f"{CGROUP}/cgroup.controllers": "cpuset\n"}
    files |= _group("bench", f"isolated invalid ({OVERLAP})", "2-3", "0-7")
    wanted, has = frozenset({2, 3}), frozenset(range(8))
    assert _read(files).all == (
        Partition(folder=f"{CGROUP}/bench", kind="isolated", invalid_reason=OVERLAP, wanted=wanted, has=has),
    )
    assert _read(files).isolated == frozenset()


def test_remote_partition_is_searched_for_once_and_then_remembered() -> None:
    """Linux 6.7 has remote partitions; a search for them in each snapshot would cost hundreds of reads."""
    files = MOUNTED | _group("pods.slice", "member", "", "0-7")
    files |= _group("pods.slice/bench", "isolated", "2-3", "2-3")
    first = _read(files)
    assert first.isolated == frozenset({2, 3})
    broken = files | _group("pods.slice/bench", f"isolated invalid ({OVERLAP})", "2-3", "0-7")
    assert [partition.invalid_reason for partition in _read(broken, first).all] == [OVERLAP]


def test_later_partition_is_detected() -> None:
    first = _read(MOUNTED | _group("bench", "member", "", "0-7"))
    assert _read(MOUNTED | _group("bench", "isolated", "5", "5"), first).isolated == frozenset({5})


def test_removed_partition_is_forgotten() -> None:
    first = _read(MOUNTED | _group("bench", "isolated", "5", "5"))
    assert _read(MOUNTED | _group("bench", "member", "5", "0-7"), first).all == ()


@pytest.mark.parametrize(("text", "cpus"), [("6-7\n", {6, 7}), ("\n", set())])
def test_root_of_cgroups_lists_the_cpus_of_isolated_partitions(text: str, cpus: Set[int]) -> None:
    assert _read(MOUNTED | {f"{CGROUP}/cpuset.cpus.isolated": text}).isolated == cpus


def test_isolated_partitions_are_searched_for_without_the_list() -> None:
    files = MOUNTED | {
        f"{CGROUP}/cgroup.controllers": "cpuset\n",
        f"{CGROUP}/bench/cpuset.cpus.partition": "isolated\n",
        f"{CGROUP}/bench/cpuset.cpus.effective": "6-7\n",
        f"{CGROUP}/whole.slice/cpuset.cpus.partition": "root\n",
        f"{CGROUP}/whole.slice/cpuset.cpus.effective": "0-1\n",
        f"{CGROUP}/whole.slice/inner/cpuset.cpus.partition": "isolated\n",
        f"{CGROUP}/whole.slice/inner/cpuset.cpus.effective": "5\n",
        f"{CGROUP}/broken/cpuset.cpus.partition": "isolated invalid (Cpu list in cpuset.cpus not exclusive)\n",
        f"{CGROUP}/broken/cpuset.cpus.effective": "4\n",
        f"{CGROUP}/other/cpuset.cpus.partition": "member\n",
        f"{CGROUP}/other/cpuset.cpus.effective": "0-7\n",
    }
    assert _read(files).isolated == frozenset({5, 6, 7})


def test_no_cpu_is_isolated_without_partitions() -> None:
    assert _read(MOUNTED | {f"{CGROUP}/a/cpuset.cpus.partition": "member\n"}).isolated == frozenset()


@pytest.mark.parametrize("name", ["bench.1", "lxc.payload.x", "cpu.max", "a.slice", "x.y/inner.z"])
def test_group_with_a_dot_in_its_name_is_a_group(name: str) -> None:
    """This includes `cpu.max`, if the controller is off and no file has this name."""
    files = MOUNTED | {f"{CGROUP}/cgroup.procs": "1\n", f"{CGROUP}/memory.stat": "anon 1\n"}
    files |= _group(name.split("/")[0], "member", "", "0-7") | _group(name, "isolated", "2-3", "2-3")
    first = _read(files)
    assert (first.isolated, first.unseen) == (frozenset({2, 3}), None)
    broken = files | _group(name, f"isolated invalid ({OVERLAP})", "2-3", "0-7")
    assert [partition.invalid_reason for partition in _read(broken, first).all] == [OVERLAP]


def test_interface_file_is_recognized_once_and_not_in_each_group() -> None:
    files = dict(MOUNTED)
    for number in range(50):
        files |= _group(f"pod{number}", "member", "", "0-7") | {f"{CGROUP}/pod{number}/memory.stat": "anon 1\n"}
    machine = WrittenMachine(files)
    first = read_partitions(Reader(machine))
    assert sum("memory.stat" in path for path in machine.reads) == 2  # to read from it, and to list it
    machine.reads.clear()
    read_partitions(Reader(machine), first)
    assert [path for path in machine.reads if "memory.stat" in path] == []


def _nested_groups(depth: int) -> dict[str, str]:
    files = dict(MOUNTED)
    for level in range(1, depth):
        files |= _group("/".join(["pod"] * level), "member", "", "0-7")
    return files | _group("/".join(["pod"] * depth), "isolated", "2-3", "2-3")


def test_partition_in_nested_containers_is_detected() -> None:
    assert _read(_nested_groups(12)).isolated == frozenset({2, 3})


def test_partitions_are_unknown_if_groups_are_too_deep() -> None:
    partitions = _read(_nested_groups(40))
    assert partitions.isolated is None
    assert partitions.unseen is not None
    assert "levels deep" in partitions.unseen


def test_partitions_are_unknown_if_the_search_takes_too_long() -> None:
    files = dict(MOUNTED)
    for number in range(1000):
        files |= _group(f"pod{number}", "member", "", "0-7")
    machine = WrittenMachine(files, answers={"whether 512 cgroups were looked at in time": False, "whether": True})
    partitions = read_partitions(Reader(machine))
    assert partitions.isolated is None
    assert partitions.unseen is not None
    assert "within 2 s" in partitions.unseen
    assert len(machine.reads) < 3000
    assert read_partitions(Reader(machine), partitions).unseen == partitions.unseen


def test_partitions_are_unknown_if_a_group_cannot_be_listed() -> None:
    machine = _Unlisted(MOUNTED | _group("locked", "member", "", "0-7") | _group("locked/bench", "isolated", "2", "2"))
    partitions = read_partitions(Reader(machine))
    assert (partitions.isolated, partitions.unseen) == (None, f"{CGROUP}/locked: permission denied")


class _Unlisted(WrittenMachine):
    """A machine with one folder that cannot be listed."""

    def list_names(self, path: str) -> list[str]:
        if path.endswith("/locked"):
            raise Unreadable(path, "permission denied")
        return super().list_names(path)


def test_cgroup_version_one_has_no_partitions() -> None:
    assert _read(NOT_MOUNTED).isolated == frozenset()


def test_partitions_are_unknown_without_the_mounts() -> None:
    assert _read({}).isolated is None


def test_partitions_missing_from_a_copy_are_unknown() -> None:
    assert _read(MOUNTED, is_copy=True).isolated is None


@pytest.mark.parametrize(
    ("controllers", "delegated", "root"),
    [
        ("cpuset cpu\n", "cpuset\n", PartitionRoot(CGROUP, True)),
        ("cpuset cpu\n", "cpu\n", PartitionRoot(CGROUP, False)),
        ("cpu\n", "cpu\n", None),
    ],
)
def test_partition_can_be_made_where_the_controller_is(
    controllers: str, delegated: str, root: PartitionRoot | None
) -> None:
    files = {f"{CGROUP}/cgroup.controllers": controllers, f"{CGROUP}/cgroup.subtree_control": delegated}
    assert _read(MOUNTED | files).root == root
