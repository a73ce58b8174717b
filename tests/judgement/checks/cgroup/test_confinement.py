"""Partitions, and threads that are confined to isolated CPUs."""

from __future__ import annotations

import pytest

from tests.judgement.judging import answered, finding_on
from tests.written import WrittenMachine, mounted
from tests.written.quiet_machine import ANSWERS, crowd, quiet_files


@pytest.mark.parametrize(
    ("membership", "status"),
    [
        ("0::/user.slice\n", "unknown"),
        ("3:cpu:/\n0::/\n", "unknown"),
        ("4:cpuset:/\n0::/\n", "not-applicable"),
        ("4:cpuset:/\n", "not-applicable"),
        ("rubbish\n", "unknown"),
    ],
)
def test_partitions_are_unknown_where_a_hierarchy_in_use_cannot_be_seen(membership: str, status: str) -> None:
    """A chroot or a mount namespace without /sys/fs/cgroup hides the hierarchy."""
    assert answered("partition-invalid", mounted("") | {"/proc/self/cgroup": membership}).status == status


def test_threads_are_spread_over_the_cpus_and_brought_back() -> None:
    threads = crowd(900, "bench", [2, 2, 2], "2-3")
    machine = WrittenMachine(quiet_files() | threads, quiet_files(3.0) | threads, answers=ANSWERS)
    fix = finding_on(machine, "threads-confined-to-isolated-cpus").answer.fix
    assert fix is not None
    assert fix.now == 'for n in 900 902; do sudo taskset -pc 2 "$n"; done; sudo taskset -pc 3 901'
    assert fix.undo == 'for n in 900 901 902; do sudo taskset -pc 2-3 "$n"; done'


def test_threads_that_are_stuck_on_an_isolated_cpu_are_moved_to_their_other_cpus() -> None:
    threads = crowd(900, "bench", [2, 2, 1], "1-3")
    machine = WrittenMachine(quiet_files() | threads, quiet_files(3.0) | threads, answers=ANSWERS)
    fix = finding_on(machine, "threads-confined-to-isolated-cpus", frozenset({2})).answer.fix
    assert fix is not None
    assert fix.now == 'for n in 900 901; do sudo taskset -pc 1 "$n"; done'
    assert fix.undo == 'for n in 900 901; do sudo taskset -pc 1-3 "$n"; done'
    assert (
        fix.persist == "start the threads with a mask that excludes isolated CPUs (numactl --physcpubind, taskset -c)"
    )
