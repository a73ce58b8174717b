"""Files that were cut off, blanked or damaged, and places that hide them: none of them is a sign of calm."""

from __future__ import annotations

import pytest

from tests.judgement.judging import answered
from tests.written import mounted


@pytest.mark.parametrize(
    "mounts",
    [
        "\n",
        "\0" * 80,
        "rubbish\n",
        "/dev/sda1 / ext4 rw 0 0\nproc /proc proc rw,nosuid,nodev,hidep",
        "/dev/sda1 / ext4 rw 0 0\nlxcfs /proc/stat fuse.lx",
    ],
    ids=["blank", "NULs", "rubbish", "cut within an option", "cut within a type"],
)
def test_mounts_that_do_not_tell_of_proc_hide_what_they_should_tell(mounts: str) -> None:
    files = {"/proc/self/mounts": mounts}
    assert answered("target-cpu-busy", files).status == "unknown"
    assert answered("tasks-on-target", files).status == "unknown"
    assert answered("profiler-runs", files).status == "unknown"


def test_mounts_without_proc_do_not_tell_whether_it_hides_processes() -> None:
    files = {"/proc/self/mounts": "/dev/sda1 / ext4 rw 0 0\n", "/proc/mounts": "/dev/sda1 / ext4 rw 0 0\n"}
    assert (answered("tasks-on-target", files).status, answered("profiler-runs", files).status) == ("warn", "unknown")


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
    """As in a chroot, or in a mount namespace without /sys/fs/cgroup."""
    assert answered("partition-invalid", mounted("") | {"/proc/self/cgroup": membership}).status == status
