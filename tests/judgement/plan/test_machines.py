"""Proposed CPUs on machines of all shapes."""

from __future__ import annotations

import pytest

from noisewatch.errors import UsageError
from noisewatch.judgement.plan.plan import Criterion
from noisewatch.judgement.terms import Status
from tests.judgement.plan.planned import answer, planned, run_on
from tests.written import without
from tests.written.quiet_machine import CPUS
from tests.written.topologies import WrittenCore, cores, files_of, machine_of

_HYBRID = [
    *(WrittenCore((2 * core, 2 * core + 1), khz=5_000_000) for core in range(4)),
    *(WrittenCore((8 + core,), khz=3_600_000) for core in range(8)),
]
_BIG_LITTLE = [
    *(WrittenCore((cpu,), cache=0, capacity=400, khz=2_000_000) for cpu in range(4)),
    *(WrittenCore((cpu,), cache=1, capacity=1024) for cpu in range(4, 8)),
]


@pytest.mark.parametrize("sockets", [1, 2, 4, 8])
@pytest.mark.parametrize("threads", [1, 2, 4])
def test_whole_cores_of_one_node_and_cache_without_cpu_0_are_proposed(sockets: int, threads: int) -> None:
    shape = cores(8 * sockets, threads, sockets=sockets, caches=2)
    plan = planned(files_of(shape), 3)
    own = [core for core in shape if core.cpus[0] in run_on(plan)]
    assert len(own) == 3
    assert plan.proposal.reserved == {cpu for core in own for cpu in core.cpus}
    assert len({(core.node, core.cache) for core in own}) == 1
    assert own[0].cache != 0  # cache 0 is CPU 0's
    assert all(result.answer.status in (Status.PASS, Status.NOT_APPLICABLE) for result in plan.criteria)


def test_more_cores_than_a_cache_has_stay_in_the_node_with_a_warning() -> None:
    plan = planned(files_of(cores(16, 2, sockets=2, caches=2)), 6)
    assert run_on(plan) == [8, 9, 10, 11, 12, 13]
    assert answer(plan, Criterion.NODE).status == Status.PASS
    assert answer(plan, Criterion.CACHE).status == Status.WARN
    assert answer(plan, Criterion.CACHE).said == "2 last-level caches: CPUs 8-11 | 12-13"


def test_more_cores_than_a_node_has_include_the_nearest_node() -> None:
    plan = planned(files_of(cores(16, sockets=4)), 5)
    assert sorted(plan.proposal.nodes) in ([1, 2], [2, 3])
    assert answer(plan, Criterion.NODE).said.endswith("NUMA distance up to 21")


def test_performance_cores_come_first() -> None:
    plan = planned(files_of(_HYBRID), 2)
    assert (run_on(plan), sorted(plan.proposal.idle)) == ([2, 4], [3, 5])
    assert plan.headline == "CPUs 2,4 (2 cores of node 0, L3 of CPUs 0-15, performance cores)"


def test_efficiency_cores_are_proposed_if_there_are_too_few_performance_cores() -> None:
    plan = planned(files_of(_HYBRID), 4)
    assert run_on(plan) == [8, 9, 10, 11]
    assert answer(plan, Criterion.KIND).said == "efficiency cores; CPUs 0-7 are performance cores"


def test_big_cores_come_before_little_ones() -> None:
    assert run_on(planned(files_of(_BIG_LITTLE), 4)) == [4, 5, 6, 7]
    assert run_on(planned(files_of(_BIG_LITTLE), 1)) == [4]


def test_three_levels_of_frequency_do_not_make_an_efficiency_core_a_performance_core() -> None:
    steps = [5_100_000] * 2 + [4_800_000] * 4 + [3_800_000] * 8 + [2_500_000] * 2
    plan = planned(files_of([WrittenCore((cpu,), khz=khz) for cpu, khz in enumerate(steps)]), 6)
    assert run_on(plan) == [6, 7, 8, 9, 10, 11]
    assert answer(plan, Criterion.KIND).said == "efficiency cores; CPUs 0-5 are performance cores"


def test_cores_of_a_higher_base_frequency_come_first_without_turbo() -> None:
    bases = {f"{CPUS}/cpu{cpu}/cpufreq/base_frequency": f"{2_700_000 if cpu < 4 else 2_100_000}\n" for cpu in range(8)}
    plan = planned(files_of(cores(8)) | bases, 2)
    assert run_on(plan) == [1, 2]
    assert answer(plan, Criterion.KIND).said == "all cores of this machine are of one kind, though CPUs 4-7 clock lower"
    slow = planned(files_of(cores(8)) | bases, cpus="5")
    assert answer(slow, Criterion.KIND).status == Status.WARN


def test_cores_of_one_design_are_proposed_if_kinds_of_core_are_unknown() -> None:
    part = "regs/identification/midr_el1"
    parts = {f"{CPUS}/cpu{cpu}/{part}": f"0x{0x410FD050 if cpu % 2 else 0x410FD0B0:x}\n" for cpu in range(8)}
    plan = planned(files_of(cores(8)) | parts, 3)
    assert len({cpu % 2 for cpu in run_on(plan)}) == 1
    assert answer(plan, Criterion.KIND).status == Status.UNKNOWN


def test_the_strongest_of_equal_cores_come_first_if_they_are_enough() -> None:
    shape = [WrittenCore((cpu,), khz=4_500_000 if cpu in (5, 6) else 4_300_000) for cpu in range(8)]
    assert run_on(planned(files_of(shape), 2)) == [5, 6]
    three = planned(files_of(shape), 3)
    assert run_on(three) == [1, 2, 3]
    assert answer(three, Criterion.KIND).said.endswith("CPUs 5-6 would be up to 4% stronger")


def test_a_core_that_the_kernel_ranks_highest_comes_first() -> None:
    ranks = {f"{CPUS}/cpu{cpu}/cpufreq/amd_pstate_prefcore_ranking": f"{200 + (cpu == 3)}\n" for cpu in range(4)}
    assert run_on(planned(files_of(cores(4)) | ranks, 1)) == [3]


def test_the_firmwares_ranking_is_used_if_the_kernel_has_none() -> None:
    ranks = {f"{CPUS}/cpu{cpu}/acpi_cppc/highest_perf": f"{150 + 20 * (cpu == 2)}\n" for cpu in range(4)}
    assert run_on(planned(files_of(cores(4)) | ranks, 1)) == [2]


def test_offline_cpus_are_never_proposed() -> None:
    plan = planned(files_of(cores(6, 2), offline=[1, 2, 8]), 2)
    assert run_on(plan) == [3, 4]
    assert not plan.proposal.reserved & {1, 2, 8}


def test_the_first_online_cpu_does_the_housekeeping_if_cpu_0_is_offline() -> None:
    plan = planned(files_of(cores(8, sockets=2), offline=[0, 1, 2, 3]), 3)
    assert run_on(plan) == [5, 6, 7]
    assert plan.proposal.housekeeping == {4}


def test_a_node_without_memory_is_never_proposed_if_there_are_others() -> None:
    shape = cores(12, sockets=3)
    assert planned(files_of(shape, nodes_without_memory=[1]), 3).proposal.nodes == {2}
    assert planned(files_of(shape, nodes_without_memory=[2]), 3).proposal.nodes == {1}


def test_memory_is_bound_to_the_nearest_node_with_memory() -> None:
    files = files_of(cores(8, sockets=2), memory_nodes=[2, 3], nodes_without_memory=[0, 1])
    plan = planned(files, 2)
    assert (plan.proposal.nodes, plan.membind) == (frozenset({1}), "2")
    assert answer(plan, Criterion.MEMORY).said == "no memory on node 1; the nearest with memory is node 2"


def test_a_node_without_cpus_is_not_proposed() -> None:
    plan = planned(files_of(cores(4), memory_nodes=[1]), 2)
    assert (run_on(plan), plan.membind) == ([1, 2], "0")


def test_memory_is_not_bound_on_one_node() -> None:
    assert planned(files_of(cores(4)), 1).membind == ""


def test_isolated_cpus_come_before_others() -> None:
    plan = planned(files_of(cores(8)) | {f"{CPUS}/isolated": "5-6\n"}, 2)
    assert run_on(plan) == [5, 6]
    assert answer(plan, Criterion.ISOLATED).said == "isolated already"
    assert "isolcpus" not in plan.steps.kernel_arguments


def test_an_unreadable_cgroup_v1_leaves_isolation_unknown() -> None:
    plan = planned(files_of(cores(8)) | {"/proc/self/cgroup": "4:cpuset:/\n0::/\n"}, 2)
    assert answer(plan, Criterion.ISOLATED).status == Status.UNKNOWN
    assert answer(plan, Criterion.ISOLATED).reason == "cannot tell whether cgroup v1 isolates CPUs"


def test_only_cpus_of_the_callers_cpuset_except_one_core_are_proposed() -> None:
    plan = planned(machine_of(files_of(cores(8)), may_use=[4, 5, 6]), 2)
    assert run_on(plan) == [5, 6]
    with pytest.raises(UsageError, match=r"3 cores: at most 2 can be proposed .* 5 of them outside"):
        planned(machine_of(files_of(cores(8)), may_use=[4, 5, 6]), 3)


@pytest.mark.parametrize(
    ("count", "asked", "most"),
    [(4, 4, "at most 3 can be proposed"), (4, 10**9, "at most 3 can be proposed"), (1, 1, "none can be proposed")],
)
def test_too_many_cores_are_refused_with_the_possible_maximum(count: int, asked: int, most: str) -> None:
    with pytest.raises(UsageError, match=most):
        planned(files_of(cores(count)), asked)


def test_cores_with_immovable_interrupts_come_last() -> None:
    files = files_of(cores(4)) | {
        "/proc/irq/25/smp_affinity_list": "1-3\n",
        "/proc/irq/25/effective_affinity_list": "1\n",
    }
    fixed = machine_of(files, modes={"/proc/irq/25/smp_affinity": 0o444})
    assert run_on(planned(fixed, 1)) == [2]
    given = planned(machine_of(files, modes={"/proc/irq/25/smp_affinity": 0o444}), cpus="1")
    assert answer(given, Criterion.INTERRUPTS).said == (
        "1 interrupt on CPU 1 that only the kernel can move: 25 nvme0q1"
    )


def test_criteria_without_readable_files_are_unknown() -> None:
    files = files_of(cores(4))
    hidden = [f"{CPUS}/cpu{cpu}/{name}" for cpu in range(4) for name in ("topology", "cache", "cpufreq", "node0")]
    bare = without(files, *hidden, "/sys/devices/system/node", "/proc/irq")
    plan = planned(machine_of(bare, is_copy=True), 2)
    assert plan.headline == "CPUs 1-2 (2 CPUs)"
    statuses = {result.criterion: result.answer.status for result in plan.criteria}
    unreadable = {
        Criterion.CORES, Criterion.HOUSEKEEPING, Criterion.KIND, Criterion.CACHE, Criterion.NODE, Criterion.MEMORY,
        Criterion.INTERRUPTS,
    }  # fmt: skip
    assert {criterion for criterion, status in statuses.items() if status == Status.UNKNOWN} == unreadable
    assert all(answer(plan, criterion).reason for criterion in unreadable)


def test_shared_cores_are_unknown_in_a_guest() -> None:
    guest = files_of(cores(4)) | {"/proc/cpuinfo": "processor : 0\nflags : fpu hypervisor\n"}
    result = answer(planned(guest, 1), Criterion.CORES)
    assert (result.status, result.reason) == (
        Status.UNKNOWN,
        "a virtual machine cannot see which CPUs of its host share a core",
    )
