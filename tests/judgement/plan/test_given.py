"""Plans for CPUs that the user names: the answers on these CPUs, and the steps."""

from __future__ import annotations

import pytest

from noisewatch.judgement.plan.plan import Criterion
from noisewatch.judgement.terms import Status
from tests.judgement.plan.planned import answer, planned, run_on
from tests.written import PROC_MOUNT, WrittenMachine
from tests.written.topologies import WrittenCore, cores, files_of, machine_of


@pytest.mark.parametrize(
    ("cpus", "criterion", "status", "text"),
    [
        ("0", Criterion.HOUSEKEEPING, Status.FAIL, "CPU 0 keeps the time"),
        ("8", Criterion.HOUSEKEEPING, Status.FAIL, "CPU 8 shares a core with CPU 0"),
        ("0-15", Criterion.HOUSEKEEPING, Status.FAIL, "no core is left for all other work"),
        ("2,10", Criterion.CORES, Status.WARN, "CPUs 2,10 share cores: run on 2, and leave 10 idle"),
        ("3-4", Criterion.NODE, Status.WARN, "nodes 0-1, NUMA distance up to 21"),
        ("3-4", Criterion.CACHE, Status.WARN, "2 last-level caches: CPUs 3 | 4"),
        ("2-3", Criterion.CORES, Status.PASS, "2 cores; their other threads (CPUs 10-11) stay idle"),
    ],
)
def test_the_answer_on_named_cpus_explains_the_fault(
    cpus: str, criterion: Criterion, status: Status, text: str
) -> None:
    result = answer(planned(files_of(cores(8, 2, sockets=2)), cpus=cpus), criterion)
    assert (result.status, result.said.startswith(text)) == (status, True), result


def test_slow_or_mixed_cores_are_warned_of() -> None:
    shape = [WrittenCore((cpu,), khz=5_000_000 if cpu < 4 else 3_000_000) for cpu in range(8)]
    assert answer(planned(files_of(shape), cpus="4-5"), Criterion.KIND).status == Status.WARN
    assert answer(planned(files_of(shape), cpus="3-4"), Criterion.KIND).said.startswith("cores of several kinds")


def test_an_offline_cpu_is_brought_online_first() -> None:
    plan = planned(machine_of(files_of(cores(4), offline=[3]), may_use=range(3)), cpus="3")
    assert answer(plan, Criterion.USABLE).said == "CPU 3: not online"
    assert plan.steps.now[0].fix.now == "echo 1 | sudo tee /sys/devices/system/cpu/cpu3/online"


def test_a_cpu_outside_of_a_copied_container_is_not_usable() -> None:
    plan = planned(_container(), cpus="1")
    assert "not CPU 1" in (answer(plan, Criterion.USABLE).reason or "")


def test_only_the_cpus_of_a_copied_container_are_proposed() -> None:
    assert run_on(planned(_container(), 1)) == [7]


def _container() -> WrittenMachine:
    """Return the copy of a container that has CPUs 3 and 7, which lxcfs renumbers."""
    cpus = "/sys/devices/system/cpu"
    files = files_of(cores(8)) | {
        f"{cpus}/online": "0-1\n",
        f"{cpus}/present": "0-7\n",
        f"{cpus}/offline": "\n",
        "/proc/self/mounts": f"{PROC_MOUNT}lxcfs {cpus}/online fuse.lxcfs rw 0 0\n",
        "/proc/self/status": "Cpus_allowed_list:\t3,7\n",
    }
    return WrittenMachine(files, is_copy=True)


def test_cpu_0_is_not_taken_with_its_sibling() -> None:
    plan = planned(files_of(cores(4, 2)), cpus="4")
    assert (run_on(plan), sorted(plan.proposal.reserved)) == ([4], [4])


def test_named_cpus_have_the_same_steps_as_proposed_ones() -> None:
    files = files_of(cores(8, 2))
    proposed = planned(files, 2)
    given = planned(files, cpus="1-2")
    assert run_on(proposed) == run_on(given)
    assert proposed.steps == given.steps
