"""Siblings and neighbours in the cache: which CPUs these are, and whether they are busy."""

from __future__ import annotations

from itertools import pairwise

import pytest

from noisewatch.judgement.case import Case
from noisewatch.judgement.noise.budget import Budget
from noisewatch.judgement.terms import Severity
from noisewatch.judgement.verdict import Verdict, judge
from noisewatch.kernel.snapshot.snapshot import SnapshotOptions, read_snapshot
from noisewatch.kinds import Work
from noisewatch.model.interval.interval import interval_between
from tests.judgement.example import VIRTUAL
from tests.judgement.judging import answered, calibrated_by, finding, finding_on, stat_without
from tests.written import WrittenMachine, without
from tests.written.calibration import written_calibration
from tests.written.quiet_machine import (
    ANSWERS,
    CPUS,
    loaded_files,
    process,
    quiet_files,
    stat_file,
)


def test_a_busy_sibling_fails_and_names_its_process() -> None:
    siblings = {f"{CPUS}/cpu2/topology/thread_siblings_list": "1-2\n"}
    before = quiet_files() | siblings
    after = quiet_files(3.0) | siblings | process(901, "neighbour", 1, 1_500_000_000)
    after["/proc/stat"] = stat_file({1: 150}, 300)
    result = finding_on(WrittenMachine(before, after, answers=ANSWERS), "busy-sibling")
    (culprit,) = result.answer.culprits
    assert (result.status, set(result.answer.cpus)) == ("fail", {1})
    assert (culprit.kind, culprit.name, culprit.pid) == ("sibling", "neighbour", 901)


_PLACES = tuple(f"{CPUS}/cpu{cpu}/{folder}" for cpu in range(4) for folder in ("cache", "topology"))


def _verdict_next_to(
    siblings: tuple[int, ...],
    sampled: dict[int, int],
    later: dict[int, int],
    budget: Budget | None = None,
    hidden: tuple[str, ...] = (),
) -> Verdict:
    """Return the verdict on CPU 2; CPUs are busy for `sampled` ticks in the sample and `later` in the calibration."""
    core = ",".join(map(str, sorted((2, *siblings))))
    topology = {f"{CPUS}/cpu{cpu}/topology/thread_siblings_list": f"{core}\n" for cpu in (2, *siblings)}
    ticks = {cpu: sampled.get(cpu, 0) + later.get(cpu, 0) for cpu in range(4)} | {2: 295}
    moments = [
        quiet_files() | topology,
        quiet_files(3.0) | topology | {"/proc/stat": stat_file(sampled, 300)},
        loaded_files() | topology | {"/proc/stat": stat_file(ticks, 600)},
    ]
    moments = [without(files, *hidden) for files in moments]
    machine, options = WrittenMachine(*moments, answers=ANSWERS), SnapshotOptions(frozenset({2}))
    snapshots = [read_snapshot(machine, options)]
    for _ in moments[1:]:
        machine.advance()
        snapshots.append(read_snapshot(machine, options, None, snapshots[-1]))
    calibrated = calibrated_by(written_calibration(cpus=(2,)), budget or Budget())
    sample, loaded = (interval_between(*pair) for pair in pairwise(snapshots))
    return judge(Case(snapshots[1], sample, calibrated=calibrated, under_load=loaded))


@pytest.mark.parametrize("check_id", ["busy-sibling", "busy-cache-neighbour"])
def test_a_neighbour_that_is_busy_only_while_the_loops_run_fails(check_id: str) -> None:
    result = finding(_verdict_next_to((3,) if check_id == "busy-sibling" else (), {}, {3: 297}), check_id)
    assert (result.status, set(result.answer.cpus)) == ("fail", {3})
    assert result.answer.said.endswith("during the calibration")


@pytest.mark.parametrize(
    ("work", "blocks"), [(None, False), (Work.LATENCY, False), (Work.CACHE, True), (Work.MEMORY, True)]
)
def test_a_busy_cache_neighbour_blocks_work_in_caches_and_memory(work: Work | None, blocks: bool) -> None:
    """A busy cache neighbour slows work in caches by a steady share, which no CV shows."""
    result = finding(_verdict_next_to((), {3: 297}, {3: 297}, Budget(work=work)), "busy-cache-neighbour")
    assert (result.status, result.is_blocking_failure) == ("fail", blocks)


def test_unknown_cache_neighbours_block_work_in_memory() -> None:
    """Missing evidence must not give a better result than a busy neighbour."""
    result = finding(_verdict_next_to((), {}, {}, Budget(work=Work.MEMORY), _PLACES), "busy-cache-neighbour")
    assert (result.status, result.severity) == ("unknown", Severity.BLOCKING)


def test_busy_times_of_siblings_of_one_core_add_up() -> None:
    ticks = {0: 14, 1: 14, 3: 14}
    assert finding(_verdict_next_to((0, 1, 3), ticks, {}), "busy-sibling").status == "fail"
    assert finding(_verdict_next_to((0, 1, 3), {0: 14}, {}), "busy-sibling").status == "warn"


def test_cache_neighbours_of_a_virtual_machine_are_unknown() -> None:
    moments = (quiet_files(), quiet_files(3.0), loaded_files())
    machine = WrittenMachine(*(files | VIRTUAL for files in moments), answers=ANSWERS)
    result = finding_on(machine, "busy-cache-neighbour")
    assert (result.status, result.answered_by) == ("unknown", "memory-unsteady")


def test_without_caches_the_cpus_of_the_package_are_neighbours() -> None:
    caches = [f"{CPUS}/cpu{cpu}/cache" for cpu in range(4)]
    after = quiet_files(3.0) | {"/proc/stat": stat_file({1: 290}, 300)}
    machine = WrittenMachine(without(quiet_files(), *caches), without(after, *caches), answers=ANSWERS)
    result = finding_on(machine, "busy-cache-neighbour")
    assert (result.status, "CPU 1, sharing a package" in result.answer.said) == ("fail", True)


def test_neighbours_in_a_package_are_unknown_if_the_package_of_a_cpu_is_unknown() -> None:
    """Only the caches of single cores are listed; CPU 1 is busy, and may share the target's package."""
    own = {f"{CPUS}/cpu{cpu}/cache/index3/shared_cpu_list": f"{cpu}\n" for cpu in range(4)}
    package = f"{CPUS}/cpu1/topology/physical_package_id"
    moments = [quiet_files() | own, quiet_files(3.0) | own | {"/proc/stat": stat_file({1: 290}, 300)}]
    machine = WrittenMachine(*moments, answers=ANSWERS)
    assert finding_on(machine, "busy-cache-neighbour").status == "fail"
    machine = WrittenMachine(*(without(files, package) for files in moments), answers=ANSWERS)
    assert finding_on(machine, "busy-cache-neighbour").status == "unknown"


def test_a_sibling_that_only_the_other_cpus_list_names_counts() -> None:
    answer = answered("busy-sibling", {f"{CPUS}/cpu1/topology/thread_siblings_list": "1-2\n"})
    assert (answer.status, set(answer.cpus)) == ("warn", {1})


def test_a_list_of_siblings_without_the_cpu_itself_is_unknown() -> None:
    assert answered("busy-sibling", {f"{CPUS}/cpu2/topology/thread_siblings_list": "7\n"}).status == "unknown"


def test_a_quiet_sibling_does_not_answer_for_another() -> None:
    siblings = {
        f"{CPUS}/cpu2/topology/thread_siblings_list": "1-2\n",
        f"{CPUS}/cpu3/topology/thread_siblings_list": "0,3\n",
    }
    before = {"/proc/stat": stat_without(1, stat_file({}, 0))}
    assert (
        answered("busy-sibling", siblings | before, {"/proc/stat": stat_without(1, stat_file({}, 300))}).status
        == "unknown"
    )


def test_an_offline_sibling_passes() -> None:
    siblings = {f"{CPUS}/cpu2/topology/thread_siblings_list": "2,7\n"}
    assert answered("busy-sibling", siblings | {f"{CPUS}/offline": "7\n"}).status == "pass"


def test_a_sibling_that_no_list_names_online_or_offline_is_unknown() -> None:
    answer = answered("busy-sibling", {f"{CPUS}/cpu2/topology/thread_siblings_list": "2,7\n"})
    assert (answer.status, "CPU 7" in str(answer.reason)) == ("unknown", True)


def test_a_sibling_with_cpu_time_is_online_whatever_the_list() -> None:
    files = {f"{CPUS}/online": "0,2-3\n", f"{CPUS}/cpu2/topology/thread_siblings_list": "1-2\n"}
    before = files | {"/proc/stat": stat_file({}, 0)}
    busy = answered("busy-sibling", before, {"/proc/stat": stat_file({1: 150}, 300)})
    assert (busy.status, set(busy.cpus)) == ("fail", {1})
    assert answered("busy-sibling", before, {"/proc/stat": stat_file({}, 300)}).status == "warn"


def _topology(online: str, shared: str) -> dict[str, str]:
    caches = {f"{CPUS}/cpu{cpu}/cache/index3/shared_cpu_list": shared.format(cpu=cpu) for cpu in range(4)}
    packages = {f"{CPUS}/cpu{cpu}/topology/physical_package_id": f"{cpu // 2}\n" for cpu in range(4)}
    return {f"{CPUS}/online": online, **caches, **(packages if "-" in shared else {})}


@pytest.mark.parametrize(
    ("check_id", "shared", "status"),
    [("busy-cache-neighbour", "{cpu}\n", "unknown"), ("other-cpus-busy", "2-3\n", "fail")],
)
def test_a_neighbour_with_cpu_time_is_online_whatever_the_list(check_id: str, shared: str, status: str) -> None:
    after = {"/proc/stat": stat_file({1: 290}, 300)}
    assert answered(check_id, _topology("0-3\n", shared), after).status == "fail"
    assert answered(check_id, _topology("2-3\n", shared), after).status == status
