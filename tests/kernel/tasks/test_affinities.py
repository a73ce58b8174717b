"""CPUs on which systemd's services and the kernel's unbound work may run."""

from __future__ import annotations

from noisewatch.kernel.tasks.affinities import WORKQUEUES, ServiceGroup, read_services, read_workqueues
from tests.written import WrittenMachine, reading


def test_queue_runs_on_the_cpus_of_both_its_mask_and_the_common_mask() -> None:
    files = {
        f"{WORKQUEUES}/cpumask": "3\n",
        f"{WORKQUEUES}/cpumask_requested": "f\n",
        f"{WORKQUEUES}/power/control": "auto\n",
        f"{WORKQUEUES}/raid/cpumask": "6\n",
        f"{WORKQUEUES}/writeback/cpumask": "c\n",
        f"{WORKQUEUES}/bound/per_cpu": "1\n",
        f"{WORKQUEUES}/odd/cpumask": "0-3\n",
    }
    reader = reading(files)
    queues = read_workqueues(reader)
    assert {name: queues.allowed_cpus(name) for name in queues.own_by_queue} == {
        "raid": frozenset({1}),
        "writeback": frozenset({0, 1}),
        "odd": None,
    }
    assert queues.requested == frozenset(range(4))
    assert list(reader.reason_by_path) == [f"{WORKQUEUES}/odd/cpumask"]


def test_queues_are_not_read_without_the_common_mask() -> None:
    machine = WrittenMachine({f"{WORKQUEUES}/raid/cpumask": "6\n"})
    queues = read_workqueues(reading({f"{WORKQUEUES}/raid/cpumask": "6\n"}))
    assert (queues.allowed, queues.own_by_queue, machine.reads) == (None, {}, [])


def test_slice_without_the_file_sets_no_limit() -> None:
    files = {
        "/proc/1/comm": "systemd\n",
        "/proc/1/status": "Cpus_allowed_list:\t0-3\n",
        "/proc/self/mounts": "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n",
        "/sys/fs/cgroup/system.slice/cpuset.cpus.effective": "0-1\n",
        "/sys/fs/cgroup/system.slice/cpuset.cpus": "\n",
        "/sys/fs/cgroup/user.slice/pids.max": "max\n",
    }
    folder = "/sys/fs/cgroup"
    reader = reading(files)
    assert read_services(reader).groups == (
        ServiceGroup(
            name="system.slice",
            folder=f"{folder}/system.slice",
            has_limit=True,
            allowed=frozenset({0, 1}),
            wanted=frozenset(),
        ),
        ServiceGroup(name="user.slice", folder=f"{folder}/user.slice", has_limit=False, allowed=None, wanted=None),
    )
    assert list(reader.reason_by_path) == ["/proc/self/mountinfo"]  # not the group without a limit
    missing_from_a_copy = read_services(reading(files, is_copy=True)).groups
    assert missing_from_a_copy is not None
    assert missing_from_a_copy[1].has_limit


def test_version_one_has_no_groups() -> None:
    assert read_services(reading({"/proc/self/mounts": "cgroup /c cgroup rw,cpu 0 0\n"})).groups == ()
    assert read_services(reading({})).groups is None
