"""Siblings and neighbours in the cache: which CPUs these are, and whether they are busy."""

from __future__ import annotations

import pytest

from tests.judgement.example import VIRTUAL
from tests.judgement.judging import answered, finding, judged
from tests.written import WrittenMachine, without
from tests.written.quiet_machine import (
    ANSWERS,
    CPUS,
    loaded_files,
    process,
    quiet_files,
    stat_file,
)


def test_a_busy_sibling_fails_and_names_what_runs_there() -> None:
    siblings = {f"{CPUS}/cpu2/topology/thread_siblings_list": "1-2\n"}
    before = quiet_files() | siblings
    after = quiet_files(3.0) | siblings | process(901, "neighbour", 1, 1_500_000_000)
    after["/proc/stat"] = stat_file({1: 150}, 300)
    found = finding(judged(WrittenMachine(before, after, answers=ANSWERS)), "busy-sibling")
    (culprit,) = found.answer.culprits
    assert (found.status, set(found.answer.cpus)) == ("fail", {1})
    assert (culprit.kind, culprit.name, culprit.pid) == ("sibling", "neighbour", 901)


def test_a_virtual_machine_cannot_see_who_shares_its_cache() -> None:
    moments = (quiet_files(), quiet_files(3.0), loaded_files())
    machine = WrittenMachine(*(each | VIRTUAL for each in moments), answers=ANSWERS)
    found = finding(judged(machine), "busy-cache-neighbour")
    assert (found.status, found.answered_by) == ("unknown", "memory-unsteady")


def test_without_caches_the_package_is_looked_at_and_not_called_a_cache() -> None:
    caches = [f"{CPUS}/cpu{cpu}/cache" for cpu in range(4)]
    after = quiet_files(3.0) | {"/proc/stat": stat_file({1: 290}, 300)}
    machine = WrittenMachine(without(quiet_files(), *caches), without(after, *caches), answers=ANSWERS)
    found = finding(judged(machine), "busy-cache-neighbour")
    assert (found.status, "CPU 1, in one package" in found.answer.said) == ("fail", True)


def test_a_sibling_that_only_the_other_side_tells_of_is_one() -> None:
    answer = answered("busy-sibling", {f"{CPUS}/cpu1/topology/thread_siblings_list": "1-2\n"})
    assert (answer.status, set(answer.cpus)) == ("warn", {1})


def test_a_list_of_siblings_that_lacks_the_cpu_itself_is_not_believed() -> None:
    assert answered("busy-sibling", {f"{CPUS}/cpu2/topology/thread_siblings_list": "7\n"}).status == "unknown"


def _stat_without(cpu: int, text: str) -> str:
    return "".join(line for line in text.splitlines(keepends=True) if not line.startswith(f"cpu{cpu} "))


def test_a_quiet_sibling_says_nothing_of_another() -> None:
    siblings = {
        f"{CPUS}/cpu2/topology/thread_siblings_list": "1-2\n",
        f"{CPUS}/cpu3/topology/thread_siblings_list": "0,3\n",
    }
    before = {"/proc/stat": _stat_without(1, stat_file({}, 0))}
    assert (
        answered("busy-sibling", siblings | before, {"/proc/stat": _stat_without(1, stat_file({}, 300))}).status
        == "unknown"
    )


def test_an_offline_sibling_makes_no_noise() -> None:
    siblings = {f"{CPUS}/cpu2/topology/thread_siblings_list": "2,7\n"}
    assert answered("busy-sibling", siblings | {f"{CPUS}/offline": "7\n"}).status == "pass"


def test_a_sibling_of_which_nobody_says_whether_it_is_online_is_unknown() -> None:
    answer = answered("busy-sibling", {f"{CPUS}/cpu2/topology/thread_siblings_list": "2,7\n"})
    assert (answer.status, "CPU 7" in str(answer.reason)) == ("unknown", True)


def test_a_sibling_whose_time_is_counted_runs_whatever_the_list_of_online_cpus_says() -> None:
    files = {f"{CPUS}/online": "0,2-3\n", f"{CPUS}/cpu2/topology/thread_siblings_list": "1-2\n"}
    before = files | {"/proc/stat": stat_file({}, 0)}
    busy = answered("busy-sibling", before, {"/proc/stat": stat_file({1: 150}, 300)})
    assert (busy.status, set(busy.cpus)) == ("fail", {1})
    assert answered("busy-sibling", before, {"/proc/stat": stat_file({}, 300)}).status == "warn"


def _beside_a_busy_cpu_1(online: str, shared: str) -> dict[str, str]:
    caches = {f"{CPUS}/cpu{cpu}/cache/index3/shared_cpu_list": shared.format(cpu=cpu) for cpu in range(4)}
    packages = {f"{CPUS}/cpu{cpu}/topology/physical_package_id": f"{cpu // 2}\n" for cpu in range(4)}
    return {f"{CPUS}/online": online, **caches, **(packages if "-" in shared else {})}


@pytest.mark.parametrize(
    ("check_id", "shared", "status"),
    [("busy-cache-neighbour", "{cpu}\n", "unknown"), ("other-cpus-busy", "2-3\n", "fail")],
)
def test_a_cpu_whose_time_is_counted_runs_whatever_the_list_says(check_id: str, shared: str, status: str) -> None:
    after = {"/proc/stat": stat_file({1: 290}, 300)}
    assert answered(check_id, _beside_a_busy_cpu_1("0-3\n", shared), after).status == "fail"
    assert answered(check_id, _beside_a_busy_cpu_1("2-3\n", shared), after).status == status
