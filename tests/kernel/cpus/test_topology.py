"""Topology of CPUs: cores, packages, nodes, caches and ranks."""

from __future__ import annotations

import pytest

from noisewatch.kernel.cpus.online import CPUS
from noisewatch.kernel.cpus.topology import NAME, CpuPlace, read_core_ranking, read_topology
from tests.written import Files, reading


def cpu_files(cpu: int, files: Files) -> dict[str, str]:
    return {f"{CPUS}/cpu{cpu}/{name}": text for name, text in files.items()}


def _cache(index: int, level: int, shared: str, kind: str = "Unified") -> dict[str, str]:
    folder = f"cache/index{index}"
    return {f"{folder}/level": f"{level}\n", f"{folder}/type": f"{kind}\n", f"{folder}/shared_cpu_list": f"{shared}\n"}


def _place(files: Files, nodes: Files | None = None) -> CpuPlace:
    return read_topology(reading(cpu_files(0, {"uevent": "", **files}) | dict(nodes or {})), None)[0]


def test_cpu_has_a_core_a_package_and_a_node() -> None:
    topology = {"core_id": "3\n", "physical_package_id": "1\n", "core_cpus_list": "0,4\n"}
    place = _place(
        {f"topology/{name}": text for name, text in topology.items()},
        {"/sys/devices/system/node/node2/cpulist": "0-3\n"},
    )
    assert (place.core, place.package, place.node, place.siblings) == (3, 1, 2, frozenset({0, 4}))


def test_older_kernel_lists_siblings_by_another_name() -> None:
    assert _place({"topology/thread_siblings_list": "0,4\n"}).siblings == frozenset({0, 4})


@pytest.mark.parametrize("name", ["core_cpus", "thread_siblings"])
def test_siblings_are_read_from_a_mask_without_a_list(name: str) -> None:
    assert _place({f"topology/{name}": "00000000,00000011\n"}).siblings == frozenset({0, 4})


def test_malformed_or_empty_siblings_are_unknown() -> None:
    assert _place({"topology/thread_siblings": "00000000\n"}).siblings is None
    assert _place({"topology/thread_siblings": "rubbish\n"}).siblings is None


def _siblings(smt: str, online: frozenset[int], *lists: str) -> list[set[int] | None]:
    cpus = {f"{CPUS}/cpu{cpu}/topology/thread_siblings_list": f"{text}\n" for cpu, text in enumerate(lists)}
    places = read_topology(reading(cpus | {f"{CPUS}/smt/active": smt}), online).values()
    return [None if place.siblings is None else set(place.siblings) for place in places]


def test_siblings_are_unknown_if_the_scheduler_has_threads_in_no_list() -> None:
    both = frozenset({0, 1})
    assert _siblings("1\n", both, "0", "1") == [None, None]
    assert _siblings("0\n", both, "0", "1") == _siblings("?\n", both, "0", "1") == [{0}, {1}]
    assert _siblings("1\n", frozenset({0, 1, 2}), "0,2", "1", "0,2") == [{0, 2}, {1}, {0, 2}]


def test_offline_thread_may_still_count_as_active() -> None:
    assert _siblings("1\n", frozenset({0}), "0", "1") == [{0}]


def test_cpus_of_a_node_are_read_from_a_mask_without_a_list() -> None:
    nodes = {"/sys/devices/system/node/node1/cpumap": "f\n", "/sys/devices/system/node/node0/cpumap": "f0\n"}
    assert _place({}, nodes).node == 1


def test_node_of_a_cpu_in_several_lists_is_unknown() -> None:
    both = {f"/sys/devices/system/node/node{node}/cpulist": "0-3\n" for node in (0, 1)}
    assert _place({}, both).node is None


@pytest.mark.parametrize("name", ["core_siblings", "package_cpus", "core_siblings_list"])
def test_package_without_a_number_has_its_cpus(name: str) -> None:
    text = "0-3\n" if name.endswith("_list") else "f\n"
    place = _place({f"topology/{name}": text, "topology/physical_package_id": "-1\n"})
    assert (place.package, place.package_cpus) == (None, frozenset(range(4)))


def test_node_is_read_from_a_link_of_the_cpu() -> None:
    assert _place({"node3/cpulist": "0\n"}).node == 3


def test_node_that_lists_only_other_cpus_is_not_this_cpus() -> None:
    assert _place({}, {"/sys/devices/system/node/node0/cpulist": "1-3\n"}).node is None


def test_package_minus_one_is_unknown() -> None:
    assert _place({"topology/physical_package_id": "-1\n"}).package is None


def test_cpu_without_files_has_an_unknown_place() -> None:
    assert _place({}) == CpuPlace(
        cpu=0, core=None, package=None, node=None, siblings=None, last_level_cache=None, kind=None, capacity=None
    )


def test_only_online_cpus_have_a_place() -> None:
    files = cpu_files(0, {"topology/core_id": "0\n"}) | cpu_files(1, {"uevent": ""})
    assert sorted(read_topology(reading(files), frozenset({0, 9}))) == [0]


def test_last_level_cache_is_the_highest_with_data() -> None:
    files = _cache(0, 1, "0", "Data") | _cache(1, 1, "0", "Instruction") | _cache(2, 2, "0,4") | _cache(3, 3, "0-7")
    assert _place(files).last_level_cache == frozenset(range(8))


def test_higher_instruction_cache_does_not_count() -> None:
    assert _place(_cache(0, 1, "0", "Data") | _cache(1, 2, "0-7", "Instruction")).last_level_cache == frozenset({0})


def test_caches_may_be_numbered_in_any_order() -> None:
    assert _place(_cache(0, 3, "0-7") | _cache(1, 2, "0-1")).last_level_cache == frozenset(range(8))


def test_cpus_that_share_a_cache_are_read_from_a_mask_on_old_kernels() -> None:
    files = {"cache/index2/level": "2\n", "cache/index2/type": "Unified\n", "cache/index2/shared_cpu_map": "0f\n"}
    assert _place(files).last_level_cache == frozenset({0, 1, 2, 3})


@pytest.mark.parametrize("broken", ["level", "shared_cpu_list"])
def test_unreadable_last_level_cache_is_unknown_and_not_the_cache_below(broken: str) -> None:
    files = _cache(2, 2, "0") | _cache(3, 3, "0-7") | {f"cache/index3/{broken}": "rubbish\n"}
    assert _place(files).last_level_cache is None


@pytest.mark.parametrize("level", ["0", "9", "1", "2"])
def test_impossible_cache_level_is_unknown_and_not_the_cache_below(level: str) -> None:
    sound = _cache(0, 1, "0", "Data") | _cache(1, 1, "0", "Instruction") | _cache(2, 2, "0") | _cache(3, 3, "0-7")
    reader = reading(cpu_files(0, {"uevent": "", **sound, "cache/index3/level": f"{level}\n"}))
    assert read_topology(reader, None)[0].last_level_cache is None
    assert f"{CPUS}/cpu0/cache/index3/level" in reader.reason_by_path


def test_machine_without_sysfs_has_no_topology() -> None:
    assert read_topology(reading({}), frozenset({0})) == {}


def test_only_ranked_cores_have_a_rank() -> None:
    files = {f"{CPUS}/cpu{cpu}/{NAME}": text for cpu, text in {1: "236\n", 2: "0\n", 3: "rubbish\n"}.items()}
    assert read_core_ranking(reading(files), frozenset({0, 1, 2, 3})) == {1: 236}
