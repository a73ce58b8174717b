"""Files that were cut off, blanked or damaged, and places that hide them: none of them is a sign of calm."""

from __future__ import annotations

import pytest

from tests.judgement.judging import answered
from tests.quiet_machine import quiet_files
from tests.written import mounted

_IRQ = "/proc/irq/24"


def _device_rows(seconds: float) -> str:
    rows = quiet_files(seconds)["/proc/interrupts"].splitlines(keepends=True)
    return "".join(row for row in rows if not row.split(":")[0].strip().isalpha())


@pytest.mark.parametrize("check_id", ["device-interrupts-on-target", "irq-routed-to-target", "profiler-runs"])
def test_a_table_that_ends_among_the_devices_may_lack_some(check_id: str) -> None:
    answer = answered(check_id, {"/proc/interrupts": _device_rows(0.0)}, {"/proc/interrupts": _device_rows(3.0)})
    assert (answer.status, "cut off" in str(answer.reason)) == ("unknown", True)


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


@pytest.mark.parametrize("said", ["rubbish\n", "\n", "-1\n"])
def test_an_irq_may_move_anywhere_where_nobody_can_say_how_far(said: str) -> None:
    assert answered("irq-routed-to-target", {f"{_IRQ}/smp_affinity_list": said}).status == "unknown"


def test_an_irq_goes_nobody_knows_where_if_that_is_told_and_cannot_be_read() -> None:
    answer = answered("irq-routed-to-target", {f"{_IRQ}/effective_affinity_list": "rubbish\n"})
    assert (answer.status, "effective_affinity_list" in str(answer.reason)) == ("unknown", True)
